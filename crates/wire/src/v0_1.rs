//! Version 0.1: JSON-RPC alone, and a client makes the ids of its tasks.
//!
//! What 1.0 has and 0.1 lacks is kept under [`METADATA_KEY`] where there is metadata to keep it in.

mod ask;
mod error;
mod event;
mod id;
mod jsonrpc;
mod mark;
mod message;
mod params;
mod push;
mod serve;
mod show;
mod task;

use nuncio_model::{Call, Caller, Request, Scope, StreamResponse};

use crate::dialect::{Dialect, JsonRpcDialect, Judging, Notice, Plan, Version, sealed::Sealed};

/// The key in metadata for what the shapes of 0.1 have no place for. Its value is an object:
///
/// | member | where | what |
/// |---|---|---|
/// | `taskId` | a task, as other versions see it | the id that its client made |
/// | `generation` | the same | which task of that id it is: 1, and one more each time it is reopened |
/// | `continues` | the same, reopened | the id of the task before |
/// | `state` | the message of a status; where there is none, the task or event around it, as 0.1 sees it | `rejected` or `auth-required` |
pub const METADATA_KEY: &str = mark::KEY;

/// The JSON of 0.1, whose parts say their `type`.
struct Oldest;

/// The dialect of version 0.1.
#[derive(Debug)]
pub struct V0_1;

impl Sealed for V0_1 {}

impl Dialect for V0_1 {
    fn version(&self) -> Version {
        Version::V0_1
    }

    fn jsonrpc(&self) -> &'static dyn JsonRpcDialect {
        &jsonrpc::OldestJsonRpc
    }

    fn serve<'a>(&self, request: Request, engine: &'a dyn Caller) -> Plan<'a> {
        serve::serve(request, engine)
    }

    fn ask<'a>(&self, request: Request, peer: &'a dyn Caller) -> Plan<'a> {
        ask::ask(request, peer)
    }

    fn claims_any(&self) -> bool {
        true
    }

    fn claims<'a>(&self, call: &Call, scope: &Scope, engine: &'a dyn Caller) -> Judging<'a> {
        serve::claims(call, scope, engine)
    }

    /// The whole task, when it comes to rest (P-2).
    fn notice(&self, event: &StreamResponse) -> Notice {
        let state = match event {
            StreamResponse::Task(task) => task.state(),
            StreamResponse::StatusUpdate(update) => update.status.state,
            StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => return Notice::Nothing,
        };
        if state.is_terminal() || state.is_interrupted() { Notice::Task } else { Notice::Nothing }
    }

    fn encode_notice(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        show::notice(event, to);
    }
}
