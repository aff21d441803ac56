//! Tests of the memory limit.

use nuncio_fuzz::memory;

#[test]
fn what_is_in_proportion_passes() {
    memory::in_proportion_to(&[0; 100], memory::BASE, || drop(vec![0_u8; 200 << 10]));
}

#[test]
#[should_panic(expected = "bytes were taken for 100 bytes of input")]
fn what_is_not_panics() {
    memory::in_proportion_to(&[0; 100], memory::BASE, || drop(vec![0_u8; 1 << 20]));
}
