//! Memory in proportion to the input: no length that a peer declares, and no nesting, takes more than its bytes paid
//! for.

/// What an input may take, however short it is, where nothing else is said.
pub const BASE: u64 = 64 << 10;

/// What each byte of an input may take beside that. The dearest bytes are those of an empty message in a list: three of
/// JSON, or two of protobuf, become a task, a skill or a detail of the model, a list that grows is there twice for a
/// moment, and a check has two or three of what it compares.
pub const EACH_BYTE: u64 = 2 << 10;

/// Runs a check, and panics if it took more memory at any time than the input has paid for.
///
/// # Panics
///
/// If it did, or if the check does.
pub fn in_proportion_to(input: &[u8], base: u64, check: impl FnOnce()) {
    let allowed = base + EACH_BYTE * input.len() as u64;
    let taken = allocation_counter::measure(check).bytes_max;
    assert!(taken <= allowed, "{taken} bytes were taken for {} bytes of input; {allowed} are allowed", input.len());
}
