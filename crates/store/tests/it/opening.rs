//! Opening a database: locks, foreign databases, and file permissions.

use std::path::PathBuf;

use nuncio_store::{OpenError, SqliteOptions, SqliteStore};

use crate::support::{Place, begin, load};

#[tokio::test]
async fn only_one_store_at_a_time_can_open_a_database() {
    let place = Place::new();
    let store = place.open().await;
    let refused = place.try_open(SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(refused, OpenError::InUse { .. }));
    let message = refused.to_string();
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    assert!(message.contains("tasks.db is in use by another process"), "{message}");
    assert_eq!(store.count().await.unwrap(), 0);
    begin(&store, "t").await;
    drop(store);
    let store = place.open().await;
    assert_eq!(store.count().await.unwrap(), 1);
    load(&store, "t").await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_symbolic_link_does_not_bypass_the_lock() {
    let place = Place::new();
    let _store = place.open().await;
    let link = place.path().with_file_name("link.db");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let refused = SqliteStore::open(link, SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let store = place.open().await;
    begin(&store, "t").await;
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(place.path().parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.file_name().into_string().unwrap());
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{names:?}");
    }
    names.sort();
    assert_eq!(names, ["tasks.db", "tasks.db-shm", "tasks.db-wal", "tasks.db.lock"]);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_not_changed() {
    let place = Place::new();
    place.connection().execute_batch("CREATE TABLE customers (name)").unwrap();
    let bytes = std::fs::read(place.path()).unwrap();
    let refused = place.try_open(SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
    assert_eq!(std::fs::read(place.path()).unwrap(), bytes);
    let bytes = b"this is no database at all, and longer than a header of SQLite is".repeat(100);
    std::fs::write(place.path(), &bytes).unwrap();
    let refused = place.try_open(SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Sqlite { .. }), "{refused}");
    assert_eq!(std::fs::read(place.path()).unwrap(), bytes);
}

#[tokio::test]
async fn a_database_of_a_later_release_is_refused() {
    let place = Place::new();
    drop(place.open().await);
    place.connection().pragma_update(None, "user_version", 1_000).unwrap();
    let refused = place.try_open(SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 1_000, .. }), "{refused}");
    assert!(refused.to_string().contains("schema 1000"), "{refused}");
}

#[tokio::test]
async fn an_error_contains_the_impossible_path() {
    let path = PathBuf::from("/nowhere/at/all/tasks.db");
    let refused = SqliteStore::open(&path, SqliteOptions::default()).await.unwrap_err();
    assert!(refused.to_string().contains("/nowhere/at/all/tasks.db"), "{refused}");
}

/// The database file is locked too, not only the lock file.
#[cfg(unix)]
#[tokio::test]
async fn a_database_stays_locked_when_its_lock_file_is_deleted() {
    let place = Place::new();
    let store = place.open().await;
    begin(&store, "t").await;
    std::fs::remove_file(place.path().with_file_name("tasks.db.lock")).unwrap();
    let refused = place.try_open(SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    begin(&store, "u").await;
    drop(store);
    load(&place.open().await, "u").await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_check_fails_when_a_file_was_deleted_or_replaced() {
    use nuncio_engine::TaskStore as _;
    for end in ["", "-wal", "-shm"] {
        for is_replaced in [false, true] {
            let place = Place::new();
            let store = place.open().await;
            begin(&store, "t").await;
            store.check().await.unwrap();
            let file = place.path().with_file_name(format!("tasks.db{end}"));
            let copy = file.with_extension("copy");
            std::fs::copy(&file, &copy).unwrap();
            std::fs::remove_file(&file).unwrap();
            if is_replaced {
                std::fs::rename(&copy, &file).unwrap();
            }
            let checked = store.check().await;
            assert!(matches!(checked, Err(nuncio_engine::StoreError::Unavailable(_))), "{end}: {checked:?}");
        }
    }
}
