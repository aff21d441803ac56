//! Version 0.1: only JSON-RPC. The client makes the ids of its tasks.
//!
//! Facts of 1.0 that 0.1 cannot carry are stored in metadata under [`METADATA_KEY`], if the object has metadata.

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

/// The metadata key of facts that the shapes of 0.1 cannot carry. The value is an object:
///
/// | member | place | content |
/// |---|---|---|
/// | `taskId` | a task, as other versions see the task | the id that the client made |
/// | `generation` | the same | the number of the task under that id: 1 for the first task, one more after each reopening |
/// | `continues` | the same, if reopened | the id of the previous task |
/// | `state` | the message of a status; without a message, the enclosing task or event, as 0.1 sees them | `rejected` or `auth-required` |
pub const METADATA_KEY: &str = mark::KEY;

/// The JSON of 0.1, in which parts have the member `type`.
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

    /// The notice is the whole task, and is sent when the task ends or is interrupted (0.1, push notifications).
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
