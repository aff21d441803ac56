//! The paths of 0.2 and 0.3: the paths of 1.0 after `/v1`, and a few more.

use http::Method as Verb;
use nuncio_model::Method;

use crate::{
    rest::{
        RouteError, Routed,
        path::{Segment, segments},
        resource,
    },
    v0_3::habits::Habits,
};

/// Whether a path belongs to these versions. The path need not exist.
pub(super) fn is_here(habits: &Habits, path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    first == "v1" || (first == "agent" && habits.extended_card.is_some())
}

/// The operation of a path.
pub(super) fn find(habits: &Habits, verb: &Verb, path: &str) -> Result<Routed, RouteError> {
    let mut path = segments(path).ok_or(RouteError::NotFound)?;
    let texts: Vec<&str> = path.iter().map(Segment::text).collect();
    match *texts {
        ["v1", "card"] => return resource::only_get(verb, Method::GetExtendedAgentCard),
        ["agent", "authenticatedExtendedCard"] if habits.extended_card.is_some() => {
            return resource::only_get(verb, Method::GetExtendedAgentCard);
        }
        ["v1", ..] => {}
        _ => return Err(RouteError::NotFound),
    }
    // To register a webhook, the proto of 0.3 has `task` where the text has `tasks`. The proto of 0.2.4 has
    // `pushNotifications`.
    let is_alias = |index: usize, alias: &str| texts.get(index).is_some_and(|text| *text == alias);
    let (task, configs) = (texts.len() > 3 && is_alias(1, "task"), is_alias(3, "pushNotifications"));
    if task {
        path[1] = Segment::of("tasks");
    }
    if configs {
        path[3] = Segment::of("pushNotificationConfigs");
    }
    resource::find(verb, &path[1..])
}
