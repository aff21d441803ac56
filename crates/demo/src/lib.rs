//! The demo agent: echoes text. Special words produce any state, event and error of the protocol.
//!
//! This is an ordinary [`Agent`] and an example to read: [`run`](Agent::run) selects the behaviour of the turn, and
//! each family of behaviours is a file of plain functions with a [`Turn`]. State between turns is read from the task,
//! so the state survives restarts.

mod callers;
mod card;
mod choice;
mod echo;
mod endings;
mod parts;
mod questions;
mod rule_breakers;
mod sample;
mod streams;
mod table;
mod tck;
mod waits;
mod words;

pub use card::{Capability, DemoOptions, card, extended_card, name};
use choice::Choice;
use nuncio_engine::{Agent, AgentError, Turn};

/// The demo agent.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Demo;

impl Demo {
    /// The demo agent.
    pub fn new() -> Self {
        Self
    }
}

impl Agent for Demo {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        match choice::choose(&turn) {
            Choice::Answer(question) => questions::answered(&turn, question).await,
            Choice::Tck(script) => tck::run(&turn, script).await,
            Choice::Word(word, rest) => words::run(&turn, word, rest).await,
            Choice::Echo(text) => echo::echo(&turn, text).await,
        }
    }
}
