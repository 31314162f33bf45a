//! Tools that build programs: where they are, and a safe environment to start them in.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::prctl;
use nix::sys::signal::Signal;

/// Folders searched where PATH is not set.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// Path of a tool in PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    find_in(&path(), name)
}

/// A command that starts in `folder`. In the user's folder a tool would obey files that others may
/// have put into a parent folder of it, such as `.cargo/config.toml` in /tmp. A tool ends with the runner.
#[expect(unsafe_code, reason = "a process is prepared between fork and exec")]
pub(crate) fn command(tool: &Path, folder: &Path) -> Command {
    let mut command = Command::new(tool);
    command.current_dir(folder).env("PATH", path()).stdin(Stdio::null());
    // SAFETY: prctl(2) is a system call alone, which neither allocates nor locks.
    unsafe { command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGTERM)?)) };
    command
}

/// PATH without empty and relative entries, which mean the current folder or one below it.
fn path() -> OsString {
    absolute(&env::var_os("PATH").unwrap_or_else(|| USUAL.into()))
}

fn absolute(path: &OsStr) -> OsString {
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    // Folders that were split at colons hold none.
    env::join_paths(folders).unwrap_or_else(|_| USUAL.into())
}

fn find_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    let is_executable = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    env::split_paths(path).map(|folder| folder.join(name)).find(is_executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_folder_is_not_in_path() {
        for (path, kept) in
            [(":/usr/bin:", "/usr/bin"), (".:/usr/bin::bin:../x:/bin", "/usr/bin:/bin"), ("", "")]
        {
            assert_eq!(absolute(OsStr::new(path)), kept, "{path}");
        }
    }

    #[test]
    fn a_tool_is_found_where_it_can_be_executed() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        let tool = second.join("tool");
        for folder in [&first, &second] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("tool"), "").unwrap();
        }
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let path = env::join_paths([&first, &second]).unwrap();
        assert_eq!(find_in(&path, "tool"), Some(tool));
        assert_eq!(find_in(&path, "other"), None);
    }
}
