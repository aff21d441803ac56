//! What is wanted of a task that runs elsewhere goes there by letter. Who wanted it is told here, as if it ran here.

use std::{collections::VecDeque, sync::Arc};

use nuncio_model::{Error, ErrorKind};
use tokio::{
    select,
    sync::{Notify, oneshot},
    time::sleep,
};

use super::{follow::catch_up, letter::Refusal};
use crate::{
    bus::Topic,
    conversation::start,
    feed::FILL,
    inbox::{Accepted, Control, Course},
    live::Live,
    reader::LogReader,
    record::Record,
    registry::Hold,
    runner::ended,
    shared::Shared,
    store::{Cluster, Letter, LetterId, Mark, Posted, StoreError},
};

use super::Body;

/// A letter under way, for the course of its message.
pub(crate) struct Correspondence {
    letter: LetterId,
    course: Course,
    moved: Notify,
}

impl Correspondence {
    /// Looks whether the turn of the message has begun: at its letter, and at the log where the log may tell. To read that
    /// costs what the log does.
    async fn look(&self, shared: &Shared, live: &Live, log_may_tell: bool) -> Result<(), StoreError> {
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

/// Looks whose turn these records begin, if that is one of a message that went by letter: to be done before they are
/// shown, since it depends on it where a stream ends.
pub(crate) async fn look_whose_turn(shared: &Shared, live: &Live, records: &[Record]) -> Result<(), StoreError> {
    let correspondences = live.lock().correspondences.clone();
    let begins = records.iter().any(|record| matches!(record, Record::Begun(_)));
    for correspondence in &correspondences {
        correspondence.look(shared, live, begins).await?;
    }
    Ok(())
}

/// Sends what came for a runner to the node that has the task.
pub(crate) fn forward(shared: &Arc<Shared>, hold: Hold, control: Control) {
    let body = match &control {
        // The letter by which it came waits for whoever has the task now; another would bring it twice.
        Control::Message(incoming) if incoming.letter.is_some() => return,
        Control::Message(incoming) => {
            Body::Message { request: Box::new((*incoming.request).clone()), extensions: incoming.extensions.to_vec() }
        }
        Control::Cancel(_) => Body::Cancel,
        // The node that has it sees to it.
        Control::Settle(..)
        | Control::Expire(..)
        | Control::Fail(_)
        | Control::Leave
        | Control::Lost
        | Control::Letter(_)
        | Control::Letters => return,
    };
    let shared = Arc::clone(shared);
    Shared::spawn(async move {
        let left = shared.members.left().clone();
        select! {
            () = send(&shared, &hold, control, body) => {}
            () = left.cancelled() => {}
        }
    });
}

async fn send(shared: &Arc<Shared>, hold: &Hold, control: Control, body: Body) {
    let Some(cluster) = shared.store.cluster() else { return };
    let body = match body.encode() {
        Ok(body) => body,
        Err(error) => return control.refuse(error),
    };
    let letter = Letter { id: LetterId::generate(), scope: hold.scope.clone(), task: hold.id.clone(), body };
    // Where it may be there without a word, it is followed as if it were.
    match cluster.post(&letter).await {
        Ok(Posted::Left(node)) => shared.members.publish(Topic::Node(node), &hold.id, 0),
        Ok(Posted::Unheld) => return take_over(shared, hold, control),
        Ok(Posted::NoTask) => return control.refuse(Error::task_not_found(hold.id.as_str())),
        Err(error) => return control.refuse(error.into()),
    }
    shared.members.listen(shared, Topic::of(&hold.id)).await;
    let course = match &control {
        Control::Message(incoming) => incoming.course.clone(),
        _ => Course::new(),
    };
    course.forward();
    let correspondence = Arc::new(Correspondence { letter: letter.id, course, moved: Notify::new() });
    hold.lock().correspondences.push(Arc::clone(&correspondence));
    let mut wanted = Wanted::of(control);
    loop {
        match correspondence.advance(shared, cluster, hold, &mut wanted).await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "a letter is not followed");
            }
        }
        select! {
            () = correspondence.moved.notified() => {}
            () = sleep(shared.limits.reread) => {}
        }
    }
    hold.lock().correspondences.retain(|it| !Arc::ptr_eq(it, &correspondence));
    if let Err(error) = cluster.discard(&correspondence.letter).await {
        tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "a letter is left behind");
    }
}

/// Runs the task here, as nobody has it.
fn take_over(shared: &Arc<Shared>, hold: &Hold, control: Control) {
    match start(shared, hold, control) {
        Ok(Some(runner)) => runner.detach(),
        Ok(None) => {}
        Err(error) => tracing::warn!(task = %hold.id, %error, "a task without a node is not run here"),
    }
}

/// Who is told what comes of a letter.
enum Wanted {
    Message(Option<oneshot::Sender<Result<Accepted, Error>>>),
    Cancel(Option<oneshot::Sender<Error>>),
}

impl Wanted {
    fn of(control: Control) -> Self {
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
    async fn advance(
        &self,
        shared: &Arc<Shared>,
        cluster: &dyn Cluster,
        hold: &Hold,
        wanted: &mut Wanted,
    ) -> Result<bool, StoreError> {
        if !catch_up(shared, hold).await? {
            wanted.refuse(Error::task_not_found(hold.id.as_str()));
            return Ok(true);
        }
        let Some(status) = cluster.letter(&self.letter).await? else {
            wanted.refuse(crate::admission::not_now("the message was lost on its way to the task; try again"));
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

/// Where the turn of the message began that is in the log at this place, if it did. Of a log that is not kept nobody knows,
/// and the message had its place there.
async fn turn_in_log(shared: &Shared, live: &Live, taken: u64) -> Result<Option<u64>, StoreError> {
    let (mut waiting, mut after) = (VecDeque::new(), 0);
    loop {
        let records = match shared.store.events_after(&live.scope, &live.id, after, FILL).await {
            Err(StoreError::Compacted) => return Ok(Some(taken)),
            records => records?,
        };
        for record in &records {
            let begun = match record {
                Record::Received(received) if received.waits => {
                    waiting.push_back(received.sequence);
                    None
                }
                Record::Received(received) => Some(received.sequence),
                Record::Begun(_) => waiting.pop_front(),
                Record::Update(_) => None,
            };
            if begun == Some(taken) {
                return Ok(Some(record.sequence()));
            }
            after = record.sequence();
        }
        if records.len() < FILL {
            return Ok(None);
        }
    }
}

/// Tells the writer of a letter when nothing comes of it: gives where a runner says so. A letter that was not taken for
/// reasons of this node waits for another.
pub(crate) fn answer<T: Send + 'static>(
    shared: &Arc<Shared>,
    hold: &Hold,
    letter: LetterId,
    refusal: impl Fn(T) -> Option<Error> + Send + 'static,
) -> oneshot::Sender<T> {
    let (sender, told) = oneshot::channel();
    let (shared, hold) = (Arc::clone(shared), hold.clone());
    Shared::spawn(async move {
        let outcome = told.await;
        let error = match outcome.map(refusal) {
            Ok(None) => return,
            Ok(Some(error)) if error.kind() != ErrorKind::Unavailable => error,
            Ok(Some(_)) | Err(_) => return shared.members.leave(&letter),
        };
        mark(&shared, &hold, &letter, Mark::Refused(Refusal::encode(&error))).await;
    });
    sender
}

/// Notes how far a letter has come, and tells its writer. What cannot be noted is found out by the state of the task.
pub(crate) async fn mark(shared: &Shared, hold: &Hold, letter: &LetterId, mark: Mark) {
    let Some(cluster) = shared.store.cluster() else { return };
    if let Err(error) = cluster.mark(letter, mark).await {
        tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "a letter is not answered");
    }
    shared.members.changed(&hold.id, 0);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nuncio_model::{Message, Request, Scope, TaskId, op::SendMessageRequest};

    use super::*;
    use crate::{
        Engine, agent_fn,
        inbox::Incoming,
        store::{ListQuery, TaskStore as _},
        testing::SharedMemory,
    };

    /// What a node that lost a task passes on: its own clients' messages, and not those that wait in letters already.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_came_by_letter_is_not_sent_by_another() {
        let memory = SharedMemory::new(Duration::from_mins(1));
        let (here, there) = (Arc::new(memory.node().await), Arc::new(memory.node().await));
        let agent = agent_fn(|turn| async move {
            turn.begin().await?;
            turn.cancelled().cancelled().await;
            Ok(())
        });
        let busy = Engine::builder(agent).store(Arc::clone(&there) as _).build();
        let request = Request::new(Scope::open(), SendMessageRequest::new(Message::user("begin")));
        let running = tokio::spawn(async move { busy.call(request).await });
        let id: TaskId = loop {
            let query = ListQuery { page_size: 1, ..ListQuery::default() };
            match there.list(&Scope::open(), &query).await.unwrap().tasks.first() {
                Some(task) => break task.id.clone(),
                None => sleep(Duration::from_millis(10)).await,
            }
        };
        let engine = Engine::builder(agent_fn(|_| async { Ok(()) })).store(Arc::clone(&here) as _).build();
        let shared = engine.shared();
        let hold = shared.attach(&Scope::open(), &id).await.unwrap();
        for (letter, sent) in [(Some(LetterId::generate()), 0), (None, 1)] {
            let mut incoming = Incoming::new(SendMessageRequest::new(Message::user("more")), Arc::default());
            incoming.letter = letter;
            forward(shared, hold.clone(), Control::Message(incoming));
            sleep(Duration::from_millis(100)).await;
            assert_eq!(there.mail(10).await.unwrap().len(), sent);
        }
        running.abort();
    }
}
