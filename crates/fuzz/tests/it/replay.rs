//! Runs each target on the corpus and on variations.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nuncio_fuzz::Target;

use crate::{
    corpus,
    mutate::{Random, vary},
};

/// Runs a target with an input, and names the input if a promise is broken.
fn run(target: &Target, name: &str, input: &[u8]) {
    let tried = catch_unwind(AssertUnwindSafe(|| target.run(input)));
    assert!(tried.is_ok(), "{} does not hold on {name}: {}", target.name, input.escape_ascii());
}

/// The number of variations over all inputs. `NUNCIO_FUZZ_VARIATIONS` sets another number.
fn variations() -> usize {
    std::env::var("NUNCIO_FUZZ_VARIATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(1000)
}

fn holds(name: &str) {
    let target = Target::named(name).unwrap();
    let inputs = corpus::of(target);
    for (name, input) in &inputs {
        run(target, name, input);
    }
    let mut random = Random::new(0x6E75_6E63_696F);
    for number in 0..variations() {
        let (name, input) = &inputs[number % inputs.len()];
        let other = &inputs[random.below(inputs.len())].1;
        run(target, &format!("variation {number} of {name}"), &vary(input, other, &mut random));
    }
}

macro_rules! targets {
    ($($test:ident: $target:literal,)*) => {
        $(#[test] fn $test() { holds($target); })*

        #[test]
        fn every_target_has_a_test() {
            assert_eq!([$($target),*], *Target::ALL.iter().map(|target| target.name).collect::<Vec<_>>());
        }
    };
}

targets! {
    jsonrpc_requests: "jsonrpc-request",
    jsonrpc_responses: "jsonrpc-response",
    events: "event",
    cards: "card",
    grpc_requests: "grpc-request",
    grpc_responses: "grpc-response",
    rest_requests: "rest-request",
    rest_responses: "rest-response",
    server_sent_events: "sse",
    grpc_frames: "grpc-frames",
    grpc_status: "grpc-status",
    grpc_metadata: "grpc-metadata",
    grpc_services: "grpc-services",
    negotiation: "negotiation",
}
