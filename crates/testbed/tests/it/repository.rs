//! The repository is complete: a clone builds and passes its tests without other files.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// Folders that a build or a test set-up creates.
const CREATED: [&str; 7] = [".git", "target", ".test", ".fuzz", "node_modules", "__pycache__", ".pytest_cache"];

/// The root of the repository.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files of the repository, with their paths from its root.
fn files(folder: &Path, from: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder.join(from)).unwrap() {
        let entry = entry.unwrap();
        let path = from.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !CREATED.iter().any(|name| entry.file_name() == *name) {
            files(folder, &path, found);
        } else if kind.is_file() {
            found.push(path);
        }
    }
}

/// How many levels a path leads out of its start folder: `a/../../b` has 1.
fn leaves_by(path: &str) -> usize {
    let (mut depth, mut out) = (0_usize, 0_usize);
    for component in Path::new(path.trim_start_matches('/')).components() {
        match component {
            Component::ParentDir if depth == 0 => out += 1,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    out
}

/// The relative paths in a text that contain `..`.
fn upward_paths(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |letter: char| letter.is_whitespace() || "\"'`()[]{}<>,;|#".contains(letter);
    text.split(is_end).filter(|word| word.starts_with("../") || word.starts_with("/../") || *word == "..")
}

/// The paths in a file that lead out of the repository. A path starts in the folder of the file. In Rust, a path after
/// `CARGO_MANIFEST_DIR` starts with `/` and in the folder of the crate.
fn outside<'a>(file: &Path, text: &'a str) -> Vec<&'a str> {
    let folders = file.components().count() - 1;
    let crate_folders = if file.starts_with("crates") { 2 } else { 0 };
    let leads_out = |path: &&str| leaves_by(path) > if path.starts_with('/') { crate_folders } else { folders };
    upward_paths(text).filter(leads_out).collect()
}

#[test]
fn no_file_contains_a_path_outside_the_repository() {
    let top = top();
    let mut found = Vec::new();
    files(&top, Path::new(""), &mut found);
    assert!(found.len() > 500, "only {} files were found", found.len());

    let mut wrong = Vec::new();
    for file in found.iter().filter(|file| !file.ends_with("testbed/tests/it/repository.rs")) {
        let Ok(text) = fs::read_to_string(top.join(file)) else { continue };
        wrong.extend(outside(file, &text).into_iter().map(|path| format!("{}: {path}", file.display())));
    }
    assert!(wrong.is_empty(), "these paths lead out of the repository:\n{}", wrong.join("\n"));
}

#[test]
fn a_path_out_of_the_repository_is_found() {
    let test = Path::new("crates/wire/tests/it/spec.rs");
    let path = concat!("/../../..", "/shared/spec");
    assert_eq!(outside(test, &format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"{path}\")")), [path]);
    assert_eq!(outside(test, "include_str!(\"../../../../docs/versions.md\")"), [""; 0]);
    assert_eq!(outside(test, "include_str!(\"../../../../../docs/versions.md\")").len(), 1);
    assert_eq!(outside(Path::new("README.md"), "see [notes](../notes.md)"), ["../notes.md"]);
    assert_eq!(outside(Path::new("docs/call.md"), "see [README](../README.md#test-it)"), [""; 0]);
}
