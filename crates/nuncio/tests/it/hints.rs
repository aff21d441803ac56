//! Compiler hints for common mistakes.

use std::{path::PathBuf, process::Command, time::SystemTime};

/// A compiled dependency of this crate: the newest file, because the directory can contain several.
fn library(name: &str) -> (PathBuf, PathBuf) {
    let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let prefix = format!("lib{name}-");
    let newest = std::fs::read_dir(&directory)
        .unwrap()
        .filter_map(Result::ok)
        .filter(|entry| {
            let file = entry.file_name().into_string().unwrap_or_default();
            file.starts_with(&prefix) && entry.path().extension().is_some_and(|it| it == "rlib")
        })
        .max_by_key(|entry| entry.metadata().and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH));
    (newest.unwrap().path(), directory)
}

#[test]
fn the_compiler_suggests_agent_fn_for_a_closure() {
    let (engine, dependencies) = library("nuncio_engine");
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program.rs");
    let source = "fn main() { nuncio_engine::Engine::builder(|_turn: nuncio_engine::Turn| async { Ok(()) }); }";
    std::fs::write(&program, source).unwrap();
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--emit=metadata", "--out-dir"])
        .args([directory.path(), &program])
        .arg("-L")
        .arg(format!("dependency={}", dependencies.display()))
        .arg("--extern")
        .arg(format!("nuncio_engine={}", engine.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        text.contains("is not an agent") && text.contains("wrap it: `agent_fn(|turn: Turn| async move {"),
        "{text}"
    );
}
