//! Forms that are also read as 1.0: the `a2a.*` dialect, and texts from before the release. These forms are never
//! written.
//!
//! Requests of 1.0 are read first, so they have no extra cost. Names and short forms without a cost are part of the
//! model. The code here is a second attempt for input that would otherwise be refused or lose a fact.

mod config;
mod event;
mod parameters;
mod path;

use nuncio_model::{Leniency, Method};

pub(super) use config::unwrap as unwrap_config;
pub(super) use event::{bare as bare_event, with_inner_marks};
pub(crate) use parameters::parameters;
pub(super) use path::find as find_path;

/// The prefix of the methods of the dialect.
const PREFIX: &str = "a2a.";

/// The operation of a method with another name in 1.0: for example `a2a.sendMessage`, and the former singular name for
/// listing webhooks.
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
