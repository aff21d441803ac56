//! The warnings of `-v` about mistakes of the agent that are read all the same.

use std::{collections::BTreeMap, fmt};

use nuncio_wire::leniency::TARGET;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::Context,
    registry::LookupSpan,
};

use crate::diag;

/// Warns once of each leniency that was used.
struct Leniencies;

/// The layer that warns.
pub(super) fn layer<S: Subscriber + for<'span> LookupSpan<'span>>() -> impl Layer<S> {
    Leniencies.with_filter(Targets::new().with_target(TARGET, LevelFilter::DEBUG))
}

impl<S: Subscriber> Layer<S> for Leniencies {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = FieldTexts::default();
        event.record(&mut fields);
        if let (Some(mistake), Some(reading)) = (fields.0.get("mistake"), fields.0.get("reading")) {
            diag::warn_once(&format!("the agent sends {mistake}; it is read as {reading}"));
        }
    }
}

#[derive(Default)]
struct FieldTexts(BTreeMap<&'static str, String>);

impl Visit for FieldTexts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
