//! Where executable files are.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

/// Folders searched if PATH names none.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// The file that a command names by its first word, a path or a name in PATH, if this user may execute it.
pub fn find(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|file| is_executable(file));
    }
    env::split_paths(&folders()).map(|folder| folder.join(word)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, AccessFlags::X_OK).is_ok()
}

/// PATH without empty and relative entries, which mean the current folder or one below it.
pub fn folders() -> OsString {
    let path = env::var_os("PATH").unwrap_or_else(|| USUAL.into());
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    // An empty PATH means the current folder, too.
    let path = env::join_paths(folders).ok().filter(|path| !path.is_empty());
    path.unwrap_or_else(|| USUAL.into())
}
