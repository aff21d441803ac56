//! The reads. Each read runs in one transaction.

pub(super) mod events;
pub(super) mod list;
pub(super) mod messages;
mod owners;
pub(super) mod pushes;
pub(super) mod task;
pub(super) mod upkeep;
pub(super) mod work;
