//! libFuzzer with the target in `NUNCIO_FUZZ_TARGET`. `./fuzz` builds this program with the instrumentation for
//! libFuzzer.
#![no_main]

use std::sync::LazyLock;

use nuncio_fuzz::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("NUNCIO_FUZZ_TARGET").unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| {
        let names: Vec<_> = Target::ALL.iter().map(|target| target.name).collect();
        panic!("NUNCIO_FUZZ_TARGET must be one of {}", names.join(", "))
    })
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGET.run(input));
