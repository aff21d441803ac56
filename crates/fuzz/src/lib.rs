//! What any bytes may do to the decoders of `nuncio-wire`, and what they may not.
//!
//! A [`Target`] takes bytes to one of the decoders, in all versions of the protocol that have it, and panics where one
//! of the promises is broken:
//!
//! - nothing panics, and the memory that is taken is in proportion to the bytes ([`memory`]);
//! - what is read twice is the same twice; what was read can be written, and is then read as the same;
//! - what cannot be read is refused with an error of the right kind, which names the field.
//!
//! The tests of this crate run the targets on what is kept in `corpus`, and on variations of it. `./fuzz` lets
//! libFuzzer search for more.

pub mod memory;

mod call;
mod card;
mod check;
mod event;
mod frames;
mod negotiate;
mod reply;
mod request;
mod rest;
mod services;
mod sse;
mod status;

/// A decoder, or a few that read the same, and what must hold of it.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its folder in `corpus`.
    pub name: &'static str,
    /// What it may take of memory beside what its input has paid for, in bytes.
    base: u64,
    check: fn(&[u8]),
}

impl Target {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::new("jsonrpc-request", request::jsonrpc),
        Self::new("jsonrpc-response", reply::jsonrpc),
        Self::new("event", event::json),
        Self::new("card", card::card),
        Self::new("grpc-request", request::grpc),
        Self::new("grpc-response", reply::grpc),
        Self::new("rest-request", rest::request),
        Self::new("rest-response", reply::rest),
        Self::new("sse", sse::sse),
        Self::new("grpc-frames", frames::frames),
        Self::new("grpc-status", status::details),
        Self::new("grpc-metadata", status::metadata),
        Self::new("grpc-services", services::services).with_base(512 << 10),
        Self::new("negotiation", negotiate::negotiation),
    ];

    const fn new(name: &'static str, check: fn(&[u8])) -> Self {
        Self { name, base: memory::BASE, check }
    }

    const fn with_base(self, base: u64) -> Self {
        Self { base, ..self }
    }

    /// The target of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|target| target.name == name)
    }

    /// Tries an input.
    ///
    /// # Panics
    ///
    /// Where a promise is broken.
    pub fn run(&self, input: &[u8]) {
        memory::in_proportion_to(input, self.base, || (self.check)(input));
    }
}
