//! Tools that build programs: where they are, and a safe environment to start them in.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{AccessFlags, access};

/// Folders searched if PATH names none.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// Path of a file in PATH that this user may execute.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&path())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file() && access(file, AccessFlags::X_OK).is_ok())
}

/// A command that starts in `folder`. In the user's folder a tool would obey files that others may
/// have put into a parent folder of it, such as `.cargo/config.toml` in /tmp. A tool ends with the runner.
#[expect(unsafe_code, reason = "a process is prepared between fork and exec")]
pub(crate) fn command(tool: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(tool);
    command.current_dir(folder).env("PATH", path()).stdin(Stdio::null());
    // SAFETY: prctl(2) is a system call alone, which neither allocates nor locks.
    unsafe { command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGTERM)?)) };
    command
}

/// PATH without empty and relative entries, which mean the current folder or one below it.
fn path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_else(|| USUAL.into());
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    // An empty PATH means the current folder, too.
    let path = env::join_paths(folders).ok().filter(|path| !path.is_empty());
    path.unwrap_or_else(|| USUAL.into())
}
