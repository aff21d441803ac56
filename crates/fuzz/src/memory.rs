//! Memory proportional to the input: a declared length or nesting must not take more memory than the input's bytes
//! justify.

/// The default memory allowance for any input, also for a short one.
pub const BASE: u64 = 64 << 10;

/// The additional memory allowance for each byte of input. The most expensive bytes are empty messages in a list: three
/// bytes of JSON, or two bytes of protobuf, become a task, a skill or a detail of the model. In addition, a growing
/// list exists twice for a moment, and a check has two or three copies of the compared values.
pub const EACH_BYTE: u64 = 2 << 10;

/// Runs a check, and panics if the check at any time used more memory than the allowance for the input.
///
/// # Panics
///
/// If the memory exceeds the allowance, or if the check panics.
pub fn in_proportion_to(input: &[u8], base: u64, check: impl FnOnce()) {
    let allowed = base + EACH_BYTE * input.len() as u64;
    let taken = allocation_counter::measure(check).bytes_max;
    assert!(taken <= allowed, "{taken} bytes were taken for {} bytes of input; {allowed} are allowed", input.len());
}
