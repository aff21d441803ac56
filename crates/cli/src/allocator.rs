//! Which allocator the binary uses: the system's.
//!
//! By measurement glibc's malloc keeps the tail short on a growing heap. mimalloc is as quick only with transparent huge
//! pages off, which must be set before it starts and so cannot be done from here.
