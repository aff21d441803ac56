//! Processes that are killed.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use nuncio_engine::{TaskStore, store::Orphan};
use nuncio_model::Scope;

use crate::support::{Place, begin, chunk, end, load};

const DATABASE: &str = "NUNCIO_TEST_CRASH_DATABASE";

/// The child process: writes as fast as possible and prints each acknowledgement. Does nothing if the process is not a
/// child.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Some(database) = std::env::var_os(DATABASE) else { return };
    let store = nuncio_store::SqliteStore::open(database, nuncio_store::SqliteOptions::default()).await.unwrap();
    let store = std::sync::Arc::new(store);
    let writers = (0..8).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            for number in 0.. {
                let id = format!("{writer}.{number}");
                let epoch = begin(&store, &id).await.epoch;
                say(&id, 1);
                for sequence in 1..6 {
                    store.commit(chunk(&id, sequence, epoch, &format!("{sequence}"))).await.unwrap();
                    say(&id, sequence + 1);
                }
                if number % 2 == 0 {
                    end(&store, &id).await.unwrap();
                    say(&id, 7);
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

fn say(id: &str, sequence: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "acknowledged {id} {sequence}").unwrap();
    out.flush().unwrap();
}

/// Acknowledged commits exist after the kill. Other commits exist completely or not at all.
#[tokio::test]
async fn a_kill_loses_no_acknowledged_commit() {
    let place = Place::new();
    let mut acknowledged = std::collections::BTreeMap::new();
    for round in 1..4 {
        // Each child starts with the same ids.
        let place = if round == 1 { &place } else { &Place::new() };
        acknowledged.clear();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child", "--nocapture"])
            .env(DATABASE, place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut take = |line: String| {
            let mut words = line.split(' ').skip_while(|word| *word != "acknowledged").skip(1);
            if let (Some(id), Some(sequence)) = (words.next(), words.next()) {
                acknowledged.insert(id.to_owned(), sequence.parse::<u64>().unwrap());
            }
        };
        for line in lines.by_ref().take(round * 500) {
            take(line.unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The lines that the child had printed before the kill.
        lines.map_while(Result::ok).for_each(&mut take);
        assert!(acknowledged.len() > 20, "{}", acknowledged.len());
        check(place, &acknowledged).await;
    }
}

async fn check(place: &Place, acknowledged: &std::collections::BTreeMap<String, u64>) {
    let store = place.open().await;
    let orphans = store.orphans(10_000).await.unwrap();
    for (id, sequence) in acknowledged {
        let stored = load(&store, id).await;
        assert!(stored.sequence >= *sequence, "{id}: {} of {sequence}", stored.sequence);
        let chunks: String = (1..stored.sequence.min(6)).map(|number| number.to_string()).collect();
        assert_eq!(stored.task.artifacts.first().map(nuncio_model::Artifact::text).unwrap_or_default(), chunks);
        let is_over = stored.task.state().is_terminal();
        assert_eq!(is_over, stored.sequence == 7, "{id}");
        assert_ne!(is_over, orphans.contains(&Orphan { scope: Scope::open(), id: id.as_str().into() }), "{id}");
    }
    let integrity: String = place.connection().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    let counted: i64 = place.connection().query_row("SELECT sum(tasks) FROM totals", [], |row| row.get(0)).unwrap();
    let there: i64 = place.connection().query_row("SELECT count(*) FROM tasks", [], |row| row.get(0)).unwrap();
    assert_eq!(counted, there);
}
