//! Every behaviour of the demo agent, run by a real engine.

mod card;
mod data;
mod support;
mod tck;
mod turns;
mod words;
