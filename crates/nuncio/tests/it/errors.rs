//! The output of `fn main() -> Result<(), E>` for an error.

use nuncio::{Client, Engine, Server, SqliteStore, Turn, engine::agent_fn, store::SqliteOptions};

#[tokio::test]
async fn an_error_from_main_is_text() {
    let error = Client::connect("127.0.0.1:9").await.unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());

    let engine = || Engine::builder(agent_fn(|turn: Turn| async move { turn.complete("x").await })).build();
    let client = nuncio::local(engine());
    let error = client.task("none").await.unwrap_err();
    assert_eq!(format!("{error:?}"), "task none was not found (TaskNotFound)");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = Server::builder(engine()).bind(taken.local_addr().unwrap()).await.err().unwrap();
    let shown = format!("{error:?}");
    assert!(shown.starts_with("cannot listen on 127.0.0.1:") && shown.contains("in use"), "{shown}");

    let error = SqliteStore::open("/none/at/all/tasks.db", SqliteOptions::default()).await.err().unwrap();
    let shown = format!("{error:?}");
    assert!(shown.contains("/none/at/all/tasks.db") && !shown.contains('{'), "{shown}");
}
