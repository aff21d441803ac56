//! Tasks in memory. Gone with the process.

/// Keeps tasks in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {}
