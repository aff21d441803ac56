//! A small disk for tests with a full disk.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// A file system in memory with a fixed size. Mounting requires root, or root of a namespace (`unshare --user
/// --map-root-user --mount`). Dropping the value unmounts the disk.
#[derive(Debug)]
pub struct Disk(TempDir);

impl Disk {
    /// Mounts a disk of this number of mebibytes.
    ///
    /// # Errors
    ///
    /// If the system does not allow this process to mount a file system.
    pub fn mount(mebibytes: u64) -> Result<Self> {
        let folder = TempDir::with_prefix("nuncio-disk-")?;
        mount(&format!("size={mebibytes}m,mode=0777"), folder.path())?;
        Ok(Self(folder))
    }

    /// The mount point.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Changes the size; the data stays.
    ///
    /// # Errors
    ///
    /// If the data needs more space than the new size.
    pub fn resize(&self, mebibytes: u64) -> Result<()> {
        mount(&format!("remount,size={mebibytes}m"), self.path())
    }

    /// Fills all remaining space.
    ///
    /// # Errors
    ///
    /// If no file can be created. A full disk is not an error.
    pub fn fill(&self) -> Result<()> {
        let mut file = File::create(self.filler()).context("cannot create a file on the small disk")?;
        let piece = [0; 4096];
        while file.write_all(&piece).is_ok() {}
        Ok(())
    }

    /// Frees the space that [`fill`](Self::fill) used.
    ///
    /// # Errors
    ///
    /// If the disk was not filled.
    pub fn free(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("the small disk is not full")
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(self.path()).status());
    }
}

fn mount(options: &str, at: &Path) -> Result<()> {
    let output = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
    let output = output.context("cannot start mount")?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!("cannot mount a small disk: {}\nhint: mounting requires root", reason.trim());
    }
    Ok(())
}
