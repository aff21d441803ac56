//! A letter under way: who wanted something of a task elsewhere is told what comes of it, as if the task ran here.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind};
use tokio::sync::{Notify, oneshot};

use super::{follow::catch_up, forward::take_over, letter::Refusal, whose_turn::turn_in_log};
use crate::{
    inbox::{Accepted, Control, Course},
    live::Live,
    reader::LogReader,
    registry::Hold,
    runner::ended,
    shared::Shared,
    store::{Cluster, LetterId, StoreError},
};

/// A letter under way, for the course of its message.
pub(crate) struct Correspondence {
    pub(super) letter: LetterId,
    pub(super) course: Course,
    pub(super) moved: Notify,
}

impl Correspondence {
    /// Looks whether the turn of the message has begun: at its letter, and at the log where the log may tell. To read that
    /// costs what the log does.
    pub(super) async fn look(&self, shared: &Shared, live: &Live, log_may_tell: bool) -> Result<(), StoreError> {
        let Some(cluster) = shared.store.cluster().filter(|_| !self.course.has_begun()) else { return Ok(()) };
        let Some(status) = cluster.letter(&self.letter).await? else { return Ok(()) };
        let begun = match (status.begun, status.taken) {
            // Whoever has the task now may not know that it came by letter.
            (None, Some(taken)) if log_may_tell => turn_in_log(shared, live, taken).await?,
            (begun, _) => begun,
        };
        if let Some(begun) = begun {
            self.course.begin(begun);
        }
        Ok(())
    }

    /// The task has moved on.
    pub(crate) fn moved(&self) {
        self.moved.notify_one();
    }
}

/// Who is told what comes of a letter.
pub(super) enum Wanted {
    Message(Option<oneshot::Sender<Result<Accepted, Error>>>),
    Cancel(Option<oneshot::Sender<Error>>),
}

impl Wanted {
    pub(super) fn of(control: Control) -> Self {
        match control {
            Control::Message(mut incoming) => {
                if let Some(founding) = incoming.founding.take() {
                    founding.begun();
                }
                Self::Message(incoming.accepted)
            }
            Control::Cancel(told) => Self::Cancel(Some(told)),
            _ => Self::Cancel(None),
        }
    }

    fn refuse(&mut self, error: Error) {
        // The sender may have left.
        match self {
            Self::Message(accepted) => drop(accepted.take().map(|it| it.send(Err(error)))),
            Self::Cancel(told) => drop(told.take().map(|it| it.send(error))),
        }
    }
}

impl Correspondence {
    /// Looks how far the letter and its task have come. Whether that was all.
    pub(super) async fn advance(
        &self,
        shared: &Arc<Shared>,
        cluster: &dyn Cluster,
        hold: &Hold,
        wanted: &mut Wanted,
    ) -> Result<bool, StoreError> {
        catch_up(shared, hold).await?;
        let Some(status) = cluster.letter(&self.letter).await? else {
            wanted.refuse(Error::new(ErrorKind::Unavailable, "the message was lost on its way to the task; try again"));
            self.rest(hold);
            return Ok(true);
        };
        if let Some(reason) = &status.refused {
            wanted.refuse(Refusal::decode(reason));
            return Ok(true);
        }
        let (sequence, state) = {
            let inner = hold.lock();
            (inner.sequence, inner.state())
        };
        let Some(taken) = status.taken else {
            if state.is_terminal() {
                // A cancel was wanted, and whoever waits for it looks at the task.
                if cluster.withdraw(&self.letter).await? {
                    if let Wanted::Message(_) = wanted {
                        wanted.refuse(ended(&hold.id, state));
                    }
                    return Ok(true);
                }
            } else if status.holder.is_none() {
                take_over(shared, hold, Control::Letters);
            }
            return Ok(false);
        };
        if sequence < taken {
            return Ok(false);
        }
        self.look(shared, hold, state.is_terminal() || state.is_interrupted()).await?;
        if let Wanted::Message(accepted) = wanted
            && let Some(accepted) = accepted.take()
        {
            let (reader, task, _) = LogReader::from_now(hold.clone());
            drop(accepted.send(Ok(Accepted { task, reader })));
        }
        let rests = match status.rested {
            _ if state.is_terminal() => true,
            Some(rested) => rested <= sequence,
            // Whoever had it is gone, and nobody who came after knew whose turn it was.
            None => status.holder.is_none() && state.is_interrupted(),
        };
        if rests {
            if !state.is_terminal() && !self.course.has_begun() {
                self.course.begin(taken);
            }
            self.rest(hold);
        }
        Ok(rests)
    }

    /// Tells who waits for the turn that it is over.
    fn rest(&self, hold: &Hold) {
        let task = Arc::clone(&hold.lock().task);
        hold.change(|_| self.course.rest(task));
    }
}
