//! Detects a task that the agent has given up. SDKs of 0.3 and 0.2 leave a task unfinished if the agent raises an
//! exception: they end the stream, and answer a subscription with an error or an empty stream.

use std::{sync::Arc, time::Duration};

use nuncio_client::{ClientError, Version, Watch};
use nuncio_model::{ErrorKind, StreamEvent, Task, TaskId, TaskState, op::GetTaskRequest};

use super::{Follower, Outcome, changes, merge};
use crate::error::{CliError, Code};

/// The waits before each look. A task that has begun is given more time.
const LOOKS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// The number of looks at a submitted task.
const NOT_BEGUN: usize = 3;

/// The longest time without a change for a submitted task after its stream broke.
const BEGINNING: Duration = Duration::from_secs(15);

/// What a stream gives next.
pub(super) enum Next {
    Item(Option<Result<Arc<StreamEvent>, ClientError>>),
    /// The stream broke, and the new subscription has no events.
    Stalled,
}

/// Whether an agent refuses a subscription to a task that the agent itself has named.
pub(super) fn is_told(error: &ClientError) -> bool {
    error.as_agent_error().is_some_and(|error| error.kind() == ErrorKind::TaskNotFound)
}

impl Follower<'_> {
    /// The next event of a stream. Of an agent before 1.0, a stream that `is_doubtful` or broke has stalled if no event
    /// comes for `--idle-timeout`; for less where the task has not begun.
    pub(super) async fn next(&self, watch: &mut Watch, is_doubtful: bool) -> Next {
        let is_older = self.connection.client.version().is_some_and(|version| version < Version::V1_0);
        let Some(idle) = self.connection.idle.filter(|_| is_older) else { return Next::Item(self.item(watch).await) };
        loop {
            let has_begun = watch.state().is_some_and(|state| state != TaskState::Submitted);
            let limit = if has_begun || is_doubtful { idle } else { idle.min(BEGINNING) };
            match tokio::time::timeout(limit, self.item(watch)).await {
                Ok(item) => return Next::Item(item),
                Err(_) if (is_doubtful || watch.has_broken()) && watch.task_id().is_some() => return Next::Stalled,
                Err(_) => {}
            }
        }
    }

    /// Looks whether the task goes on all the same, for a short time.
    pub(super) async fn look_for_end(
        &self,
        id: &TaskId,
        known: Option<Task>,
        refusal: Option<ClientError>,
    ) -> Result<Outcome, CliError> {
        let mut request = GetTaskRequest::new(id.clone());
        request.history_length = self.history;
        let mut last: Option<Task> = None;
        for (look, wait) in LOOKS.into_iter().enumerate() {
            if look >= NOT_BEGUN && last.as_ref().is_some_and(|task| task.state() == TaskState::Submitted) {
                break;
            }
            tokio::time::sleep(wait).await;
            let task = match self.connection.client.call(request.clone()).await {
                Ok(task) => task,
                Err(error) if is_told(&error) => return Err(self.connection.explain(refusal.unwrap_or(error))),
                Err(error) => return Err(self.lost(error)),
            };
            if self.connection.client.is_settled(task.state()) {
                self.announce(&task)?;
                if self.is_stream {
                    changes::between(known.as_ref(), &task).iter().try_for_each(|change| self.output.event(change))?;
                }
                let task = match known {
                    Some(known) => merge::merged(known, task),
                    None => task,
                };
                return Ok(Outcome::Task(Box::new(task)));
            }
            if last.as_ref().is_some_and(|last| *last != task) {
                return self.poll(id, known, false).await;
            }
            last = Some(task);
        }
        let state = last.map(|task| task.state()).unwrap_or_default().short();
        let get = crate::reference::InHand::named(id.as_str(), self.connection).get_command();
        let message = format!("the agent has given up task {id}: it is {state}, and nothing comes of it any more");
        Err(CliError::new(Code::Agent("InvalidAgentResponseError"), message)
            .with_hint(format!("the agent's log says why; {get}")))
    }
}
