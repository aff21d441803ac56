//! The stored inputs of each target.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nuncio_fuzz::Target;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The inputs of a target with their names, sorted by name.
pub(crate) fn of(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = folder().join(target.name);
    let mut paths: Vec<_> = names(&folder).into_iter().map(|name| (folder.join(&name), name)).collect();
    paths.sort();
    paths.into_iter().map(|(path, name)| (name, fs::read(path).unwrap())).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn each_target_has_inputs_and_each_folder_belongs_to_a_target() {
    for target in Target::ALL {
        assert!(!of(target).is_empty(), "{} has no inputs", target.name);
    }
    for name in names(&folder()) {
        assert!(Target::named(&name).is_some(), "{name} is no target");
    }
}
