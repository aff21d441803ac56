//! Measures servers in turns, with the ceiling before and after each other server, so that other load on the machine
//! affects both.

use std::time::Duration;

use anyhow::Result;

use crate::{
    load::Slice,
    machine::{Processes, Usage},
    options::Plan,
    server::Server,
};

/// One server under one kind of load.
pub(crate) struct Contender<'a> {
    label: String,
    server: &'a Server,
    run: Box<dyn FnMut(Duration) -> Result<Slice> + 'a>,
}

impl<'a> Contender<'a> {
    /// `run` loads `server` for about the given time.
    pub(crate) fn new(
        label: impl Into<String>,
        server: &'a Server,
        run: impl FnMut(Duration) -> Result<Slice> + 'a,
    ) -> Self {
        Self { label: label.into(), server, run: Box::new(run) }
    }
}

/// Medians over the rounds.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) label: String,
    /// Answers or events per second.
    pub(crate) rate: f64,
    /// The rates of the rounds.
    rates: Vec<f64>,
    /// The rate divided by the ceiling's rate in the same minute; `None` for the ceiling.
    pub(crate) ratio: Option<f64>,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) usage: Usage,
    /// Resident memory of the server at the end, in bytes.
    pub(crate) resident: u64,
    /// The reason for missing figures: a wrong answer or stream.
    pub(crate) refused: Option<String>,
}

impl Measured {
    /// The ratio of the rate to another rate measured in the same rounds: the median of the rounds. `None` if one of
    /// them has no figures.
    pub(crate) fn by(&self, other: &Self) -> Option<f64> {
        let has_figures = self.refused.is_none() && other.refused.is_none() && !other.rates.is_empty();
        has_figures.then(|| median(self.rates.iter().zip(&other.rates).map(|(one, other)| one / other)))
    }
}

/// The measurements under one load.
pub(crate) struct Group<'a> {
    pub(crate) ceiling: Contender<'a>,
    pub(crate) others: Vec<Contender<'a>>,
}

/// Measures the ceiling and the others in turns. The ceiling is first in the result.
pub(crate) fn interleave(
    plan: &Plan,
    processes: &Processes,
    ceiling: Contender<'_>,
    others: Vec<Contender<'_>>,
) -> Vec<Measured> {
    in_turns(plan, processes, vec![Group { ceiling, others }]).pop().unwrap_or_default()
}

/// Measures all groups in each round, so that the results of groups are close in time and can be compared.
pub(crate) fn in_turns(plan: &Plan, processes: &Processes, groups: Vec<Group<'_>>) -> Vec<Vec<Measured>> {
    let mut groups: Vec<(Track<'_>, Vec<Track<'_>>)> = groups
        .into_iter()
        .map(|group| (Track::new(group.ceiling), group.others.into_iter().map(Track::new).collect()))
        .collect();
    for (ceiling, others) in &mut groups {
        for track in others.iter_mut().chain([ceiling]) {
            track.warm_up(plan.slice / 3);
        }
    }
    for _ in 0..plan.rounds {
        for (ceiling, others) in &mut groups {
            round(ceiling, others, plan.slice, processes);
        }
    }
    groups
        .into_iter()
        .map(|(ceiling, others)| [ceiling].into_iter().chain(others).map(Track::medians).collect())
        .collect()
}

fn round(ceiling: &mut Track<'_>, others: &mut [Track<'_>], slice: Duration, processes: &Processes) {
    let mut before = ceiling.observe(slice, processes);
    for track in others {
        let rate = track.observe(slice, processes);
        let after = ceiling.observe(slice, processes);
        if let (Some(before), Some(rate), Some(after)) = (before, rate, after) {
            track.ratios.push(2.0 * rate / (before + after));
        }
        before = after;
    }
}

struct Track<'a> {
    contender: Contender<'a>,
    observed: Vec<Observed>,
    ratios: Vec<f64>,
    refused: Option<String>,
}

struct Observed {
    rate: f64,
    p50: f64,
    p99: f64,
    usage: Usage,
}

impl<'a> Track<'a> {
    fn new(contender: Contender<'a>) -> Self {
        Self { contender, observed: Vec::new(), ratios: Vec::new(), refused: None }
    }

    fn warm_up(&mut self, slice: Duration) {
        self.refused = (self.contender.run)(slice).err().map(|error| format!("{error:#}"));
    }

    /// Runs one slice and returns its rate; after a failure the contender is not measured again.
    fn observe(&mut self, slice: Duration, processes: &Processes) -> Option<f64> {
        if self.refused.is_some() {
            return None;
        }
        let meter = processes.meter(self.contender.server.process());
        match (self.contender.run)(slice) {
            Ok(slice) => {
                let rate = slice.rate();
                let mut usage = meter.read();
                usage.load = (usage.load - slice.idle.as_secs_f64() / meter.elapsed().as_secs_f64()).max(0.0);
                self.observed.push(Observed {
                    rate,
                    p50: slice.latency.value_at_quantile(0.5) as f64,
                    p99: slice.latency.value_at_quantile(0.99) as f64,
                    usage,
                });
                Some(rate)
            }
            Err(error) => {
                self.refused = Some(format!("{error:#}"));
                None
            }
        }
    }

    fn medians(self) -> Measured {
        let over = |field: fn(&Observed) -> f64| median(self.observed.iter().map(field));
        let nanoseconds = |value: f64| Duration::from_secs_f64(value / 1e9);
        let resident = self.contender.server.resident();
        let ended = resident.as_ref().err().map(|error| format!("{error:#}"));
        Measured {
            rate: over(|observed| observed.rate),
            rates: self.observed.iter().map(|observed| observed.rate).collect(),
            ratio: (!self.ratios.is_empty()).then(|| median(self.ratios.iter().copied())),
            p50: nanoseconds(over(|observed| observed.p50)),
            p99: nanoseconds(over(|observed| observed.p99)),
            usage: Usage {
                server: over(|observed| observed.usage.server),
                load: over(|observed| observed.usage.load),
                foreign: over(|observed| observed.usage.foreign),
            },
            resident: resident.unwrap_or(0),
            refused: self.refused.or(ended),
            label: self.contender.label,
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median([3.0, 1.0, 2.0].into_iter()) - 2.0).abs() < 1e-9);
        assert!((median([4.0, 1.0, 2.0, 3.0].into_iter()) - 2.5).abs() < 1e-9);
        assert!(median(std::iter::empty()).abs() < 1e-9);
    }
}
