//! The files of a task, written into a folder under names that cannot lead anywhere else.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use nuncio_model::{Message, PartContentRef, PartRef, Size, Task};
use serde::Serialize;

use crate::{diag, error::CliError};

/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 200;
/// How many files of one name a folder may have.
const MOST_NUMBERS: usize = 10_000;

/// A file that was written.
#[derive(Debug, Serialize)]
pub(crate) struct Saved {
    pub(crate) path: PathBuf,
    #[serde(rename = "mediaType")]
    media_type: String,
    pub(crate) bytes: usize,
}

impl Saved {
    pub(crate) fn about(&self) -> String {
        format!("{}, {}, {}", self.path.display(), self.media_type, Size::of(self.bytes))
    }
}

/// The content of a file.
#[derive(Debug, PartialEq, Eq)]
struct UnsavedFile {
    name: String,
    media_type: String,
    bytes: Vec<u8>,
}

/// Writes the inline files of a task: of the artifacts and of the message in the status.
pub(crate) fn save_task(task: &Task, folder: &Path) -> Result<Vec<Saved>, CliError> {
    let mut wanted = Vec::new();
    for artifact in &task.artifacts {
        let name = artifact.name.as_deref().filter(|name| !name.trim().is_empty());
        collect(artifact.parts.iter(), name.unwrap_or(artifact.artifact_id.as_str()), &mut wanted);
    }
    if let Some(message) = &task.status.message {
        collect(message.parts.iter().map(PartRef::from), "status-msg", &mut wanted);
    }
    save(wanted, folder)
}

/// Writes the files of a message.
pub(crate) fn save_message(message: &Message, folder: &Path) -> Result<Vec<Saved>, CliError> {
    let mut wanted = Vec::new();
    collect(message.parts.iter().map(PartRef::from), "filepart", &mut wanted);
    save(wanted, folder)
}

/// The files among the parts. Adjacent parts with the same name and type are pieces of a file.
fn collect<'a>(parts: impl Iterator<Item = PartRef<'a>>, otherwise: &str, wanted: &mut Vec<UnsavedFile>) {
    let mut is_open = false;
    for part in parts {
        let PartContentRef::Raw(bytes) = part.content else {
            is_open = false;
            if let PartContentRef::Url(url) = part.content {
                diag::warn(&format!("a file is given by its address, which is not fetched: {url}"));
            }
            continue;
        };
        let media_type = part.media_type().unwrap_or("application/octet-stream");
        let name = name(part.filename(), otherwise, media_type);
        match wanted.last_mut().filter(|last| is_open && last.name == name && last.media_type == media_type) {
            Some(last) => last.bytes.extend_from_slice(bytes),
            None => wanted.push(UnsavedFile { name, media_type: media_type.to_owned(), bytes: bytes.to_vec() }),
        }
        is_open = true;
    }
}

/// The name of a file: the last part of the name that the agent gave, or another, with an ending by the media type.
fn name(given: Option<&str>, otherwise: &str, media_type: &str) -> String {
    let given = given.map(plain).filter(|name| !name.is_empty());
    let name = given.or_else(|| Some(plain(otherwise)).filter(|name| !name.is_empty()));
    let name = name.unwrap_or_else(|| "filepart".to_owned());
    if Path::new(&name).extension().is_some() {
        return name;
    }
    let ending = mime_guess::get_mime_extensions_str(media_type).and_then(|endings| match media_type {
        "text/plain" => Some(&"txt"),
        "image/jpeg" => Some(&"jpg"),
        _ => endings.first(),
    });
    match ending.filter(|_| media_type != "application/octet-stream") {
        Some(ending) => format!("{name}.{ending}"),
        None => name,
    }
}

/// A name without folders, hidden files, control characters and marks of direction, and not too long.
fn plain(name: &str) -> String {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown: String = base.chars().filter(|c| crate::escape::is_shown(*c) && !"<>:\"|?*".contains(*c)).collect();
    let mut name = shown.trim().trim_start_matches('.').trim_end_matches(['.', ' ']).to_owned();
    while name.len() > LONGEST_NAME {
        // The ending is shorter than that.
        let at = name.char_indices().nth(name.chars().count() / 2).map_or(0, |(at, _)| at);
        name.remove(at);
    }
    name
}

fn save(wanted: Vec<UnsavedFile>, folder: &Path) -> Result<Vec<Saved>, CliError> {
    let failed = |path: &Path, error: &io::Error| {
        CliError::internal(format!("cannot write {}: {error}", path.display()))
            .with_hint("name a folder that can be written")
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut saved = Vec::new();
    for UnsavedFile { name, media_type, bytes } in wanted {
        let (mut file, path) = create(folder, &name).map_err(|error| failed(&folder.join(&name), &error))?;
        file.write_all(&bytes).map_err(|error| failed(&path, &error))?;
        saved.push(Saved { path, media_type, bytes: bytes.len() });
    }
    Ok(saved)
}

/// Creates a file: `name (1).ext` if the name exists. Nothing is overwritten, and no link is followed.
fn create(folder: &Path, name: &str) -> io::Result<(File, PathBuf)> {
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        _ => (name, String::new()),
    };
    for number in 0..MOST_NUMBERS {
        let name = if number == 0 { name.to_owned() } else { format!("{stem} ({number}){ending}") };
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Artifact, Part};

    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        for (given, otherwise, media_type, expected) in [
            (Some("../../etc/passwd"), "a", "application/octet-stream", "passwd"),
            (Some("..\\x\\evil.exe"), "a", "text/plain", "evil.exe"),
            (Some(".."), "a/b", "application/json", "b.json"),
            (Some(".bashrc"), "a", "application/octet-stream", "bashrc"),
            (Some("a\u{202e}gpj.exe\n"), "a", "image/png", "agpj.exe"),
            (None, "report", "text/plain", "report.txt"),
            (None, "/", "image/png", "filepart.png"),
            (Some("photo"), "a", "image/jpeg", "photo.jpg"),
        ] {
            assert_eq!(name(given, otherwise, media_type), expected, "{given:?}");
        }
        assert_eq!(plain(&"x".repeat(500)).len(), LONGEST_NAME);
    }

    #[test]
    fn pieces_are_joined_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = |bytes: &[u8], name: &str| Part::raw(bytes.to_vec()).with_filename(name);
        let mut task = Task::new("t".into(), "c".into());
        task.artifacts.push(Artifact::new("a", vec![file(b"one", "x.bin"), file(b" two", "x.bin")]));
        task.artifacts.push(Artifact::new("b", vec![file(b"other", "x.bin"), Part::text("no file")]));
        let saved = save_task(&task, folder.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((saved.len(), read("x.bin").as_str(), read("x (1).bin").as_str()), (2, "one two", "other"));
        save_task(&task, folder.path()).unwrap();
        assert_eq!(read("x (2).bin"), "one two");
    }
}
