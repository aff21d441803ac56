//! A small disk, to be full.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// A file system in memory of a fixed size, which only root may mount, also the root of a namespace
/// (`unshare --user --map-root-user --mount`). Dropping it unmounts it.
#[derive(Debug)]
pub struct Disk(TempDir);

impl Disk {
    /// Mounts one of so many mebibytes.
    ///
    /// # Errors
    ///
    /// When the system does not let this process mount anything.
    pub fn mount(mebibytes: u64) -> Result<Self> {
        let folder = TempDir::with_prefix("nuncio-disk-")?;
        mount(&format!("size={mebibytes}m,mode=0777"), folder.path())?;
        Ok(Self(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes it larger or smaller; what is on it stays.
    ///
    /// # Errors
    ///
    /// When it cannot be: what is on it needs more.
    pub fn resize(&self, mebibytes: u64) -> Result<()> {
        mount(&format!("remount,size={mebibytes}m"), self.path())
    }

    /// Takes all the room that is left.
    ///
    /// # Errors
    ///
    /// When no file can be made; that it gets full is none.
    pub fn fill(&self) -> Result<()> {
        let mut file = File::create(self.filler()).context("no file can be made on the small disk")?;
        let piece = [0; 4096];
        while file.write_all(&piece).is_ok() {}
        Ok(())
    }

    /// Gives back what [`fill`](Self::fill) took.
    ///
    /// # Errors
    ///
    /// When it was not filled.
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
        bail!("cannot mount a small disk: {}\nhint: only root may", reason.trim());
    }
    Ok(())
}
