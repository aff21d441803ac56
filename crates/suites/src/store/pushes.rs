//! Push configurations.

use nuncio_engine::store::{PushConfig, TaskStore};
use nuncio_model::{AuthenticationInfo, Scope, TaskPushNotificationConfig};

use super::{StoreFixture, writer::Writer};

/// A configuration with every field.
pub(super) fn config(task: &str, id: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        tenant: Some("tenant".into()),
        id: Some(id.into()),
        task_id: Some(task.into()),
        url: format!("https://example.org/hook?for={id}"),
        token: Some("a token".into()),
        authentication: Some(AuthenticationInfo { scheme: "Bearer".into(), credentials: Some("a secret".into()) }),
    }
}

/// A configuration that starts with the next record.
pub(super) fn from_now_on(config: TaskPushNotificationConfig) -> PushConfig {
    PushConfig { config, format: None, delivered: u64::MAX }
}

/// Configurations are returned with their secrets, sorted by id, from the first commit and from later calls.
pub async fn push_configs_are_sorted_by_id<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs = ["d", "b"].map(|id| PushConfig { config: config("t", id), format: None, delivered: 0 }).into();
    let committed = task.run(&store).await;
    assert!(committed.has_pending_push);
    for id in ["c", "a"] {
        assert!(store.put_push_config(&task.scope, from_now_on(config("t", id))).await.unwrap());
    }
    let configs = store.push_configs(&task.scope, task.id()).await.unwrap().unwrap();
    assert_eq!(
        configs,
        [("a", 1), ("b", 0), ("c", 1), ("d", 0)].map(|(id, delivered)| PushConfig {
            config: config("t", id),
            format: None,
            delivered
        })
    );
    Writer::new("other").run(&store).await;
    assert_eq!(store.push_configs(&task.scope, &"other".into()).await.unwrap(), Some(vec![]));
}

/// A configuration with the same id replaces every field of the old configuration.
pub async fn a_push_config_of_the_same_id_is_replaced<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    let new = TaskPushNotificationConfig {
        url: "https://example.org/other".into(),
        token: None,
        authentication: None,
        ..config("t", "p")
    };
    assert!(store.put_push_config(&task.scope, from_now_on(new.clone())).await.unwrap());
    let configs = store.push_configs(&task.scope, task.id()).await.unwrap().unwrap();
    assert_eq!(configs, [PushConfig { config: new, format: None, delivered: 1 }]);
    assert_eq!(store.next_push().await.unwrap(), None, "the pending records of the old configuration are gone");
}

/// Deleting a missing configuration is not an error.
pub async fn deleting_a_push_config_twice_is_no_error<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    assert!(store.put_push_config(&task.scope, from_now_on(config("t", "p"))).await.unwrap());
    for _ in 0..2 {
        assert!(store.delete_push_config(&task.scope, task.id(), &"p".into()).await.unwrap());
        assert_eq!(store.push_configs(&task.scope, task.id()).await.unwrap(), Some(vec![]));
    }
    task.stage(super::writer::chunk("x"));
    assert!(!task.run(&store).await.has_pending_push);
}

/// A missing task has no configurations.
pub async fn a_missing_task_has_no_push_configs<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    assert!(!store.put_push_config(&Scope::open(), from_now_on(config("t", "p"))).await.unwrap());
    assert_eq!(store.push_configs(&Scope::open(), &"t".into()).await.unwrap(), None);
    assert!(!store.delete_push_config(&Scope::open(), &"t".into(), &"p".into()).await.unwrap());
}

/// The format is stored with the configuration, and is replaced with the configuration.
pub async fn a_push_config_keeps_its_format<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    let with = |id: &str, format: Option<&str>, delivered| PushConfig {
        config: config("t", id),
        format: format.map(Box::from),
        delivered,
    };
    task.push_configs = vec![with("p", Some("old"), 0), with("q", None, 0)];
    task.run(&store).await;
    assert!(store.put_push_config(&task.scope, with("r", Some("ö"), u64::MAX)).await.unwrap());
    let formats = async || {
        let configs = store.push_configs(&task.scope, task.id()).await.unwrap().unwrap();
        configs.into_iter().map(|it| it.format.map(String::from)).collect::<Vec<_>>()
    };
    let (old, o) = (Some("old".to_owned()), Some("ö".to_owned()));
    assert_eq!(formats().await, [old.clone(), None, o.clone()]);
    assert!(store.put_push_config(&task.scope, with("p", None, 0)).await.unwrap());
    assert!(store.put_push_config(&task.scope, with("q", Some("old"), 0)).await.unwrap());
    assert_eq!(formats().await, [None, old, o]);
}
