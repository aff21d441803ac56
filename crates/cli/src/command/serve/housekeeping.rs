//! How long tasks are kept: rules such as `completed=30d` or `acme/failed=1h`.

use std::time::Duration;

use nuncio_engine::Housekeeping;
use nuncio_model::TaskState;

use super::settings::Settings;
use crate::{args::duration, error::CliError};

/// Reads the settings of housekeeping.
pub(super) fn housekeeping(settings: &Settings) -> Result<Housekeeping, CliError> {
    let mut house = Housekeeping::default();
    for item in settings.list("retention").into_iter().map(str::trim).filter(|item| !item.is_empty()) {
        let rule = Rule::parse(item).map_err(|reason| settings.wrong("retention", &reason))?;
        for state in rule.states {
            house = match (&rule.tenant, rule.time) {
                (Some(tenant), time) => house.with_tenant_rule(tenant.as_str().into(), state, time),
                (None, Some(time)) => house.with_rule(state, time),
                (None, None) => house,
            };
        }
    }
    house.log_retention = settings.duration("log-retention")?;
    house.interrupted_expiry = settings.duration("interrupted-expiry")?;
    Ok(house)
}

/// `[TENANT/]STATE=DURATION`, or a duration alone for all that have ended.
#[derive(Debug, PartialEq, Eq)]
struct Rule {
    tenant: Option<String>,
    states: Vec<TaskState>,
    /// `None` for ever.
    time: Option<Duration>,
}

impl Rule {
    fn parse(text: &str) -> Result<Self, String> {
        let (about, time) = text.rsplit_once('=').unwrap_or(("ended", text));
        let (tenant, state) = match about.rsplit_once('/') {
            Some((tenant, state)) => (Some(tenant.trim().to_owned()), state),
            None => (None, about),
        };
        let time = match time.trim() {
            "forever" => None,
            time => Some(duration(time).map_err(|reason| format!("{reason}, or forever"))?),
        };
        Ok(Self { tenant, states: states(state.trim())?, time })
    }
}

fn states(name: &str) -> Result<Vec<TaskState>, String> {
    let of = |is_it: fn(TaskState) -> bool| TaskState::ALL.iter().copied().filter(|state| is_it(*state)).collect();
    match name {
        "ended" => Ok(of(TaskState::is_terminal)),
        "waiting" => Ok(of(TaskState::is_interrupted)),
        name => match TaskState::from_name(name) {
            Some(state) if state.is_terminal() || state.is_interrupted() => Ok(vec![state]),
            _ => Err(format!(
                "`{name}` is not a state that tasks are kept in: say ended, waiting, completed, failed, canceled, \
                 rejected, input-required or auth-required"
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_for_a_state_of_everybody_or_of_a_tenant() {
        let day = Duration::from_hours(24);
        let rule = |text| Rule::parse(text).unwrap();
        let ended = [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected];
        assert_eq!(
            rule("completed=30d"),
            Rule { tenant: None, states: vec![TaskState::Completed], time: Some(30 * day) }
        );
        assert_eq!(rule("1w"), Rule { tenant: None, states: ended.to_vec(), time: Some(7 * day) });
        let own = Rule { tenant: Some("a/b=c".to_owned()), states: vec![TaskState::Failed], time: None };
        assert_eq!(rule("a/b=c/failed = forever"), own);
        assert_eq!(rule("waiting=1d").states, [TaskState::InputRequired, TaskState::AuthRequired]);
        for text in ["", "completed", "completed=", "completed=soon", "working=1d", "done=1d", "=1d"] {
            assert!(Rule::parse(text).is_err(), "{text}");
        }
    }
}
