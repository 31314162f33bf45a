//! A program as it is started: file, first arguments, folder.

use std::path::PathBuf;

/// File of a program and how it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    /// Arguments before a row's flags, such as the script of an interpreter.
    pub args: Vec<String>,
    /// Folder that it starts in; the runner's own if there is none.
    pub folder: Option<PathBuf>,
}

impl From<PathBuf> for Program {
    fn from(path: PathBuf) -> Self {
        Program { path, args: Vec::new(), folder: None }
    }
}
