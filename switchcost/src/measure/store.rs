//! A file of records, one JSON line each, appended to as they come.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};
use serde::Serialize;

use crate::system::console::BadUsage;
use crate::system::{replace, write};

mod read;

pub use read::{Contents, parse, read, tell};

/// A file that records are appended to.
#[derive(Debug)]
pub struct Store {
    pub path: PathBuf,
    file: File,
    /// True if the file was not there before.
    made: bool,
    /// Length that it has at least, since nobody takes away what is in it.
    end: u64,
}

impl Store {
    /// Opens a file for appending; if none is named, makes a new one in this folder, called by the date.
    pub fn open(path: Option<&Path>, name: &str) -> anyhow::Result<Self> {
        if let Some(path) = path {
            let opened = Store::append_to(path);
            return opened.map_err(|e| {
                if e.is::<io::Error>() { BadUsage::new(format!("{e:#}")) } else { e }
            });
        }
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Store::append_to(Path::new(&format!("{name}-{}.jsonl", now.replace(':', "-"))))
    }

    /// Opens a file for appending, and makes it if it is not there.
    pub fn append_to(path: &Path) -> anyhow::Result<Self> {
        let (file, made) = replace::append(path).with_context(|| cannot_write(path))?;
        let is_given = replace::is_stdout(path);
        let path = if is_given { Path::new("/dev/stdout") } else { path };
        let mut store = Store { path: path.to_owned(), file, made, end: 0 }.locked()?;
        if !is_given {
            ensure_lines(&store.file, path)?;
            end_last_line(&mut store.file).with_context(|| cannot_write(path))?;
        }
        Ok(store)
    }

    /// Keeps other runners from writing to the file: their records would be mixed with these.
    fn locked(mut self) -> anyhow::Result<Self> {
        let Some(found) = self.plain_file() else { return Ok(self) };
        self.end = found.len();
        match self.file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                // The other one has made it, if it is new, and may not have written yet.
                self.made = false;
                bail!(
                    "{} is being written by another switchcost: name another file by --out, or wait until it has ended",
                    self.path.display()
                )
            }
            // Some file systems over a network have no locks.
            Err(TryLockError::Error(_)) | Ok(()) => Ok(self),
        }
    }

    /// Makes sure that the records are in the file of that name: nobody has removed, replaced or cut it.
    pub fn ensure_kept(&self) -> anyhow::Result<()> {
        let Some(ours) = self.plain_file() else { return Ok(()) };
        let is_kept = fs::metadata(&self.path).is_ok_and(|named| {
            (named.dev(), named.ino()) == (ours.dev(), ours.ino()) && named.len() >= self.end
        });
        ensure!(
            is_kept,
            "{} was removed, replaced or cut during the run: records are lost",
            self.path.display()
        );
        Ok(())
    }

    /// Appends a line in one write, so that a reader never sees a part of it unless the
    /// machine stops. Where the disk is full, what fitted is taken back.
    pub fn append(&mut self, content: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(content)?;
        line.push(b'\n');
        let before = self.plain_file().map(|file| file.len());
        let written = write::whole(&self.file, &line);
        match (&written, before) {
            (Ok(()), _) => self.end += line.len() as u64,
            (Err(_), Some(before)) => {
                // Where this fails too, whoever opens the file next ends the line.
                let _ = self.file.set_len(before);
            }
            (Err(_), None) => {}
        }
        let note = if before > Some(0) { " (earlier records are in it)" } else { "" };
        written.with_context(|| format!("cannot append to {}{note}", self.path.display()))
    }

    /// Waits until the records are on the disk. A crash of this process loses no appended record; a crash of the
    /// machine may lose the records since the last call. It is not called after each record: the next row must not
    /// start while the disk is busy.
    pub fn sync(&self) -> anyhow::Result<()> {
        // A device or a pipe has nothing to wait for.
        let synced = self.plain_file().map_or(Ok(()), |_| self.file.sync_data());
        synced.with_context(|| format!("cannot write {} to the disk", self.path.display()))
    }

    /// What the system says of it, if it is a plain file: others cannot be read again.
    pub(super) fn plain_file(&self) -> Option<Metadata> {
        self.file.metadata().ok().filter(Metadata::is_file)
    }
}

impl Drop for Store {
    /// Removes the file if no record was written.
    fn drop(&mut self) {
        if self.made && self.plain_file().is_some_and(|file| file.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Checks that lines can be appended: the name does not end as a compressed file's, and the file begins as records do.
fn ensure_lines(mut file: &File, path: &Path) -> anyhow::Result<()> {
    // A terminal or a pipe has no beginning.
    let mut bytes = file.rewind().ok().into_iter().flat_map(|()| BufReader::new(file).bytes());
    let first = bytes.find(|byte| !byte.as_ref().is_ok_and(u8::is_ascii_whitespace));
    let first = first.and_then(Result::ok);
    let is_packed = path.extension().is_some_and(|ending| ending == "gz");
    if is_packed || first.is_some_and(|byte| byte != b'{') {
        return Err(BadUsage::new(format!(
            "--out {}: a run appends lines of JSON, and this file is of another kind: name another file, and compress that by \
             gzip afterwards if need be",
            path.display()
        )));
    }
    Ok(())
}

/// Ends a line that a full disk or a stopped machine has cut short, so that the next record does
/// not continue it.
fn end_last_line(file: &mut File) -> io::Result<()> {
    // A device or a pipe cannot be read backwards, and has no last line.
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}: name another file by --out", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_removed_replaced_or_cut_is_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let mut store = Store::append_to(&path).unwrap();
        let missed = |store: &Store| store.ensure_kept().unwrap_err().to_string();
        store.append(&"record").unwrap();
        store.ensure_kept().unwrap();
        fs::write(&path, "").unwrap();
        store.append(&"record").unwrap();
        assert!(missed(&store).contains("out.jsonl was removed, replaced or cut"));
        fs::remove_file(&path).unwrap();
        missed(&store);
        fs::write(&path, "another, which is longer than both records").unwrap();
        missed(&store);
        Store::append_to(Path::new("/dev/null")).unwrap().ensure_kept().unwrap();
    }
}
