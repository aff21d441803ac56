//! Tests of the memory limit.

use nuncio_fuzz::memory;

#[test]
fn proportional_memory_passes() {
    memory::in_proportion_to(&[0; 100], memory::BASE, || drop(vec![0_u8; 200 << 10]));
}

#[test]
#[should_panic(expected = "bytes were taken for 100 bytes of input")]
fn excessive_memory_panics() {
    memory::in_proportion_to(&[0; 100], memory::BASE, || drop(vec![0_u8; 1 << 20]));
}
