//! Work on large JSON, away from the threads that drive connections: reading a body of megabytes takes as long as
//! thousands of small calls.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{Semaphore, SemaphorePermit},
};

/// Reading or writing so many bytes is large work.
pub const LARGE: usize = 256 * 1024;

/// Places for large work. Small work is done where it is asked for, at no cost beyond one comparison.
///
/// Large work runs on its own thread while another thread takes over the tasks of the runtime. A runtime with a single
/// thread (`current_thread`) has no other thread, so that all work is done in place there.
#[derive(Debug)]
pub struct Offload(Semaphore);

/// A place for one piece of work, until it is dropped.
#[derive(Debug)]
pub struct Place<'a>(Option<SemaphorePermit<'a>>);

impl Offload {
    /// Allows so many pieces of large work at once, and at least one.
    pub fn new(places: usize) -> Self {
        Self(Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS)))
    }

    /// Waits for a place for work on so many bytes; small work needs none.
    pub async fn place(&self, bytes: usize) -> Place<'_> {
        if bytes < LARGE {
            return Place(None);
        }
        // In a box, so that the futures of small requests stay small.
        Place(Box::pin(self.0.acquire()).await.ok())
    }

    /// Does work on so many bytes now. Where all places are taken, large work is done in place.
    pub fn run_now<R>(&self, bytes: usize, work: impl FnOnce() -> R) -> R {
        let place = if bytes < LARGE { None } else { self.0.try_acquire().ok() };
        Place(place).run(work)
    }
}

impl Place<'_> {
    /// Does the work.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let has_other_threads =
            || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        if self.0.is_some() && has_other_threads() { tokio::task::block_in_place(work) } else { work() }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// The only worker thread of the runtime is at large work, and another task of the runtime lets the work end.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_while_large_work_is_done() {
        let task = tokio::spawn(async {
            let offload = Offload::new(1);
            let (sender, receiver) = mpsc::channel();
            let place = offload.place(LARGE).await;
            tokio::spawn(async move { sender.send(()) });
            place.run(|| receiver.recv_timeout(TIMEOUT))
        });
        task.await.unwrap().expect("the other task did not run");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn large_work_is_bounded_and_small_work_waits_for_nothing() {
        let offload = Offload::new(1);
        let first = offload.place(LARGE).await;
        assert!(tokio::time::timeout(Duration::from_millis(20), offload.place(LARGE)).await.is_err());
        assert_eq!(offload.place(LARGE - 1).await.run(|| 1), 1);
        assert_eq!(offload.run_now(LARGE, || 2), 2);
        drop(first);
        assert_eq!(offload.place(LARGE).await.run(|| 3), 3);
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_does_all_work_in_place() {
        assert_eq!(Offload::new(0).place(LARGE).await.run(|| std::thread::current().id()), std::thread::current().id());
    }
}
