//! The `nuncio` binary.

fn main() {}
