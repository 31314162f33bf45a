//! A file of records, one JSON line each, appended to as they come.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use harness::record::Record;
use jiff::Timestamp;

mod absurd;
mod read;

pub use read::{Contents, parse, read, read_any, tell};

/// A file that records are appended to.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// Whether the file was not there before.
    made: bool,
}

impl Store {
    /// Opens a file for appending; where none is named, makes a new one in this folder, called by
    /// the date.
    ///
    /// # Errors
    /// When it cannot be opened for writing.
    pub fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        match path {
            Some(path) => Store::append_to(path),
            None => Store::dated(),
        }
    }

    fn dated() -> anyhow::Result<Self> {
        let now = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
        let mut path = PathBuf::from(format!("switchcost-{now}.jsonl"));
        // Two runs may begin in the same second.
        for number in 2.. {
            match File::create_new(&path) {
                Ok(file) => {
                    return Ok(Store {
                        path,
                        file,
                        made: true,
                    });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    path = PathBuf::from(format!("switchcost-{now}-{number}.jsonl"));
                }
                Err(e) => {
                    let what =
                        format!("cannot make {}: name another file by --out", path.display());
                    return Err(e).context(what);
                }
            }
        }
        bail!("every name for a file of records is taken: name one by --out")
    }

    /// Opens a file for appending, and makes it where it is not there.
    ///
    /// # Errors
    /// When it cannot be opened for writing.
    pub fn append_to(path: &Path) -> anyhow::Result<Self> {
        let made = !path.exists();
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .and_then(end_last_line)
            .with_context(|| {
                format!(
                    "cannot write {}: name another file by --out",
                    path.display()
                )
            })?;
        Ok(Store {
            path: path.to_owned(),
            file,
            made,
        })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a record in one write, so that a reader never sees a part of it unless the disk is
    /// full or the machine stops.
    ///
    /// # Errors
    /// What the system reports.
    pub fn append(&mut self, record: &Record) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .with_context(|| format!("cannot append to {}", self.path.display()))
    }
}

impl Drop for Store {
    /// Removes a file again that was made for nothing.
    fn drop(&mut self) {
        let is_empty = |file: &File| file.metadata().is_ok_and(|m| m.is_file() && m.len() == 0);
        if self.made && is_empty(&self.file) {
            // An empty file is a small nuisance; whatever ended the run is told already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Ends a line that a full disk or a stopped machine has cut short, so that the next record does
/// not continue it.
fn end_last_line(mut file: File) -> io::Result<File> {
    let mut last = [b'\n'];
    // A device or a pipe cannot be read backwards, and has no last line.
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last != [b'\n'] {
        file.write_all(b"\n")?;
    }
    Ok(file)
}
