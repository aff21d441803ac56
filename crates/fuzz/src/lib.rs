//! Checks of the decoders of `nuncio-wire` with arbitrary bytes.
//!
//! A [`Target`] passes bytes to one of the decoders, in all versions of the protocol with this decoder. The target
//! panics if one of these promises is broken:
//!
//! - nothing panics, and the memory use is proportional to the number of bytes ([`memory`]);
//! - reading twice has the same result, and a decoded value can be written and is then read as the same value;
//! - unreadable input is refused with an error of the right kind, which names the field.
//!
//! The tests of this crate run the targets on the inputs in `corpus`, and on variations of these inputs. `./fuzz`
//! searches for further inputs with libFuzzer.

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

/// A decoder, or several decoders with the same input, with its checks.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the target, and of its folder in `corpus`.
    pub name: &'static str,
    /// The memory allowance in addition to the allowance for the input, in bytes.
    base: u64,
    check: fn(&[u8]),
}

impl Target {
    /// All targets.
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

    /// The target with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|target| target.name == name)
    }

    /// Runs the target with an input.
    ///
    /// # Panics
    ///
    /// If a promise is broken.
    pub fn run(&self, input: &[u8]) {
        memory::in_proportion_to(input, self.base, || (self.check)(input));
    }
}
