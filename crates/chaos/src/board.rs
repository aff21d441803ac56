//! The tasks that are known to clients, and the other shared data of clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use crate::{
    call::{Caller, Outgoing, Refusal},
    history::{History, What},
    random::Random,
};

/// The maximum number of tasks that other clients can join.
const KEPT: usize = 64;

/// The shared data of clients.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) caller: Caller,
    pub(crate) history: Arc<History>,
    /// The address of the receiver of webhooks.
    pub(crate) sink: String,
    /// The maximum time until everything ends, after the end of all faults.
    pub(crate) settle_timeout: Duration,
    /// Tasks that were last seen working, and tasks that wait for a message.
    working: Mutex<Vec<String>>,
    parked: Mutex<Vec<String>>,
    readers: AtomicU64,
    is_over: AtomicBool,
}

impl Board {
    pub(crate) fn new(caller: Caller, history: Arc<History>, sink: String, settle_timeout: Duration) -> Self {
        Self {
            caller,
            history,
            sink,
            settle_timeout,
            working: Mutex::default(),
            parked: Mutex::default(),
            readers: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    pub(crate) fn add(&self, what: What) {
        self.history.add(what);
    }

    /// Records that a server acknowledged a message, with the webhook of the message.
    pub(crate) fn accepted(&self, task: &str, outgoing: &Outgoing) {
        self.add(What::Accepted { task: task.to_owned(), message: outgoing.message.clone() });
        if let Some((hook, _)) = &outgoing.hook {
            self.add(What::Hooked { task: task.to_owned(), hook: hook.clone(), whole: true });
        }
    }

    /// Records a refusal that the client did not cause.
    pub(crate) fn refused(&self, by: &str, refusal: &Refusal) {
        if refusal.status.is_server_error() {
            self.add(What::Refused { by: by.to_owned(), again: refusal.again, refusal: refusal.to_string() });
        }
    }

    /// The number of a new reader.
    pub(crate) fn reader(&self) -> u64 {
        self.readers.fetch_add(1, Ordering::Relaxed)
    }

    /// Signals the end: clients start nothing new.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn add_working(&self, task: &str) {
        keep(&self.working, task);
    }

    pub(crate) fn add_parked(&self, task: &str) {
        keep(&self.parked, task);
    }

    /// Removes an ended task from the lists.
    pub(crate) fn remove(&self, task: &str) {
        self.working.lock().retain(|known| known != task);
    }

    /// A task that may be working.
    pub(crate) fn one_at_work(&self, random: &mut Random) -> Option<String> {
        random.choose(&self.working.lock()).cloned()
    }

    /// Removes and returns a task that waits for a message, so that usually no other client answers the same task.
    pub(crate) fn take_parked(&self, random: &mut Random) -> Option<String> {
        let mut parked = self.parked.lock();
        let chosen = random.choose(&parked).cloned()?;
        parked.retain(|task| *task != chosen);
        Some(chosen)
    }
}

fn keep(tasks: &Mutex<Vec<String>>, task: &str) {
    let mut tasks = tasks.lock();
    if !tasks.iter().any(|known| known == task) {
        if tasks.len() == KEPT {
            tasks.remove(0);
        }
        tasks.push(task.to_owned());
    }
}
