//! The agent that a store belongs to.

use nuncio_engine::store::TaskStore as _;
use nuncio_model::TaskState;

use super::{
    StoreFixture,
    writer::{Writer, at},
};

/// A store with tasks belongs to an agent. Another agent must adopt the tasks first; an empty store accepts any agent.
pub async fn a_store_belongs_to_an_agent<F: StoreFixture>(fixture: F) {
    let mut store = fixture.open().await;
    for agent in ["one", "two", "zwölf \u{0}"] {
        assert_eq!(store.belongs_to(agent, false).await.unwrap(), None);
    }
    Writer::new("task").in_state(TaskState::Completed, at(0)).release(&store).await;
    for _ in 0..2 {
        assert_eq!(store.belongs_to("one", false).await.unwrap().as_deref(), Some("zwölf \u{0}"));
        assert_eq!(store.belongs_to("zwölf \u{0}", false).await.unwrap(), None);
        if F::DURABLE {
            drop(store);
            store = fixture.open().await;
        }
    }
    assert_eq!(store.belongs_to("one", true).await.unwrap(), None);
    assert_eq!(store.belongs_to("one", false).await.unwrap(), None);
    assert_eq!(store.belongs_to("two", false).await.unwrap().as_deref(), Some("one"));
}
