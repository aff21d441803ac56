//! Opening a database: whose it is, what it is, and who may read it.

use std::path::PathBuf;

use nuncio_store::{OpenError, SqliteOptions, SqliteStore};

use crate::support::{Place, begin, load};

#[tokio::test]
async fn a_database_is_of_one_store_at_a_time() {
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
async fn another_name_of_a_database_is_no_way_around_the_lock() {
    let place = Place::new();
    let _store = place.open().await;
    let link = place.path().with_file_name("link.db");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let refused = SqliteStore::open(link, SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_for_their_owner_only() {
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
async fn a_database_of_something_else_is_left_alone() {
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
async fn a_database_of_a_later_release_is_left_alone() {
    let place = Place::new();
    drop(place.open().await);
    place.connection().pragma_update(None, "user_version", 1_000).unwrap();
    let refused = place.try_open(SqliteOptions::default()).await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 1_000, .. }), "{refused}");
    assert!(refused.to_string().contains("schema 1000"), "{refused}");
}

#[tokio::test]
async fn a_path_that_cannot_be_is_named() {
    let path = PathBuf::from("/nowhere/at/all/tasks.db");
    let refused = SqliteStore::open(&path, SqliteOptions::default()).await.unwrap_err();
    assert!(refused.to_string().contains("/nowhere/at/all/tasks.db"), "{refused}");
}

/// The lock is not in the file beside the database alone.
#[cfg(unix)]
#[tokio::test]
async fn a_database_whose_lock_file_was_deleted_is_of_one_store_all_the_same() {
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
async fn a_file_that_was_deleted_or_replaced_under_a_store_fails_its_check() {
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
