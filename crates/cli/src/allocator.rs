//! The allocator of the binary: jemalloc where it can be built, otherwise the system allocator.
//!
//! By measurement: an echo makes some sixty small things and leaves twenty behind. jemalloc is quicker at both
//! than glibc's malloc, which asks the kernel for each few pages by which a thread's heap grows, and takes a fifth
//! less for an idle stream.
//!
//! What was freed goes back to the system about ten seconds later, by threads of its own where there can be some (Linux
//! with glibc). Without these it goes back only while somebody allocates: a server that was busy and is idle would keep
//! it.

#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
