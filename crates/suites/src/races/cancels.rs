//! Cancellation against completion.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use nuncio_engine::{Limits, store::TaskStore};
use nuncio_model::{ErrorKind, TaskState};
use tokio::time::sleep;

use super::client::{Client, all, assert_whole, state};
use crate::StoreFixture;

/// Cancel requests race with the completion of the task. All clients learn the same final state.
pub async fn a_hundred_cancels_and_a_completion_have_a_single_result<F: StoreFixture>(fixture: F) {
    let store: Arc<dyn TaskStore> = Arc::new(fixture.open().await);
    for round in 0..20 {
        let pause = Duration::from_micros(50 * round);
        let client = Client::over(Arc::clone(&store), Limits::default(), move |turn| async move {
            turn.begin().await?;
            sleep(pause).await;
            turn.complete("done").await
        });
        let task = client.begin().await;
        let events = client.subscribe(&task.id, None).await;
        let cancels = join_all((0..100).map(|_| {
            let (client, id) = (client.clone(), task.id.clone());
            tokio::spawn(async move { client.cancel(&id).await })
        }))
        .await;
        let end = client.get(&task.id).await.state();
        assert!(end.is_terminal());
        for outcome in cancels {
            match outcome.unwrap() {
                Ok(task) => assert_eq!((task.state(), end), (TaskState::Canceled, TaskState::Canceled)),
                Err(error) => assert_eq!(error.kind(), ErrorKind::TaskNotCancelable),
            }
        }
        match events {
            Ok(events) => {
                let events = all(events).await;
                assert_whole(&events);
                assert_eq!(state(events.last().unwrap()), Some(end));
            }
            Err(error) => assert_eq!((error.kind(), end), (ErrorKind::UnsupportedOperation, TaskState::Completed)),
        }
        client.rest().await;
    }
}
