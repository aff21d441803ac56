//! What else is read as 1.0: the `a2a.*` dialect, and texts from before the release. None of it is ever written.
//!
//! What is of 1.0 itself is read first, and does not come here; names and short forms that cost nothing to know are the
//! model's. So each of these is a second look at what would else be refused, or would say nothing.

mod config;
mod event;
mod parameters;
mod path;

use nuncio_model::{Leniency, Method};

pub(super) use config::unwrap as unwrap_config;
pub(super) use event::{bare as bare_event, with_inner_marks};
pub(crate) use parameters::parameters;
pub(super) use path::find as find_path;

/// What the methods of the dialect begin with.
const PREFIX: &str = "a2a.";

/// The operation of a method that 1.0 names otherwise: `a2a.sendMessage`, and the singular that listing webhooks had.
pub(super) fn method(name: &str) -> Option<Method> {
    let is = |method: &Method, name: &str| {
        let (first, rest) = method.name().split_at(1);
        name.get(1..) == Some(rest) && name[..1].eq_ignore_ascii_case(first)
    };
    let method = match name.strip_prefix(PREFIX) {
        Some(dotted) => Method::ALL.into_iter().find(|method| is(method, dotted)),
        None if name == "ListTaskPushNotificationConfig" => Some(Method::ListTaskPushNotificationConfigs),
        None => None,
    };
    method.inspect(|_| Leniency::DottedMethod.note())
}
