//! The commands that the runners of this node process now or have processed, so that each command is processed once,
//! even if the node reads the command several times.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::store::CommandId;

/// How long this node remembers a finished command. A read of pending commands that began before is complete by then.
const REMEMBERED: Duration = Duration::from_mins(5);

/// With fewer entries than this, a search for expired entries is not worth the time.
const FEW: usize = 1024;

#[derive(Clone, Default)]
pub(super) struct SeenCommands(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    /// `None` while a runner processes the command, then the time at which the runner finished.
    commands: HashMap<CommandId, Option<Instant>>,
    /// The number of entries at which expired entries are removed: twice the number that remained after the last removal.
    /// All removals together therefore cost no more than the commands.
    room: usize,
    #[cfg(test)]
    looked_at: usize,
}

impl SeenCommands {
    /// Reserves a command for the caller. `None` if a runner processes the command or has processed it.
    pub(super) fn take(&self, command: &CommandId) -> Option<CommandGuard> {
        let mut entries = self.0.lock();
        entries.tidy();
        if entries.commands.contains_key(command) {
            return None;
        }
        entries.commands.insert(command.clone(), None);
        Some(CommandGuard { seen: self.clone(), command: command.clone(), is_done: false })
    }
}

impl Entries {
    fn tidy(&mut self) {
        if self.commands.len() < self.room.max(FEW) {
            return;
        }
        #[cfg(test)]
        {
            self.looked_at += self.commands.len();
        }
        self.commands.retain(|_, done| done.is_none_or(|done| done.elapsed() < REMEMBERED));
        self.room = 2 * self.commands.len();
    }
}

/// A command that a runner processes. If the guard is dropped before `done`, the command stays pending and is read again.
pub(crate) struct CommandGuard {
    seen: SeenCommands,
    command: CommandId,
    is_done: bool,
}

impl CommandGuard {
    pub(crate) fn command(&self) -> &CommandId {
        &self.command
    }

    /// The command was executed, or its sender knows that the command was refused. This node does not process the command
    /// again.
    pub(crate) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for CommandGuard {
    fn drop(&mut self) {
        let mut entries = self.seen.0.lock();
        if self.is_done {
            entries.commands.insert(self.command.clone(), Some(Instant::now()));
        } else {
            entries.commands.remove(&self.command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_command_is_taken_once_unless_its_guard_is_dropped() {
        let seen = SeenCommands::default();
        let command = CommandId::generate();
        let first = seen.take(&command).unwrap();
        assert!(seen.take(&command).is_none());
        drop(first);
        let second = seen.take(&command).unwrap();
        second.done();
        assert!(seen.take(&command).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn only_expired_entries_are_removed_and_the_search_costs_no_more_than_the_commands() {
        const MANY: usize = 50_000;
        let seen = SeenCommands::default();
        let held = seen.take(&CommandId("held".into())).unwrap();
        for number in 0..MANY {
            seen.take(&CommandId(number.to_string().into())).unwrap().done();
        }
        assert!(seen.take(&CommandId("0".into())).is_none());
        let looked_at = seen.0.lock().looked_at;
        assert!(looked_at <= 2 * MANY, "{looked_at}");
        tokio::time::advance(REMEMBERED).await;
        for number in MANY..3 * MANY {
            seen.take(&CommandId(number.to_string().into())).unwrap().done();
        }
        let left = seen.0.lock().commands.len();
        assert!(left <= 2 * MANY + 1, "{left}");
        assert!(seen.take(held.command()).is_none());
    }
}
