//! A part from a file, with file name and media type.

use std::{fs, io, path::Path};

use super::Part;

impl Part {
    /// A part with the content of a file, the file name, and the media type of the file name's extension.
    ///
    /// The whole file is read into memory, and the call blocks during reading. Agents and clients limit the size of a
    /// message; for a large file, [`Part::url`] is better.
    ///
    /// # Errors
    ///
    /// The path cannot be read; the error names the path.
    pub fn from_path(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let bytes = fs::read(path).map_err(named)?;
        Ok(Self::file(path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default(), bytes))
    }

    /// A part with these bytes and this file name. The media type follows from the extension of the name; the default
    /// is `application/octet-stream`.
    pub fn file(name: impl AsRef<str>, bytes: impl Into<Box<[u8]>>) -> Self {
        let name = name.as_ref();
        let media_type = mime_guess::from_path(name).first_or_octet_stream();
        Self::raw(bytes).with_filename(name).with_media_type(media_type.essence_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_and_its_media_type() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.png");
        fs::write(&path, [1, 2]).unwrap();
        let part = Part::from_path(&path).unwrap();
        assert_eq!(part, Part::raw([1, 2]).with_filename("a.png").with_media_type("image/png"));
        assert_eq!(Part::file("a.unknown", []).media_type(), Some("application/octet-stream"));
        let error = Part::from_path(dir.path().join("none.txt")).unwrap_err();
        assert!(error.kind() == io::ErrorKind::NotFound && error.to_string().contains("none.txt"), "{error}");
    }
}
