//! Tools that build programs: where they are, and a safe environment to start them in.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use host::path;
use nix::sys::prctl;
use nix::sys::signal::Signal;

/// A command that starts in `folder`. In the user's folder a tool would obey files that others may
/// have put into a parent folder of it, such as `.cargo/config.toml` in /tmp. A tool ends with the runner.
#[expect(unsafe_code, reason = "a process is prepared between fork and exec")]
pub(crate) fn command(tool: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(tool);
    command.current_dir(folder).env("PATH", path::folders()).stdin(Stdio::null());
    // SAFETY: prctl(2) is a system call alone, which neither allocates nor locks.
    unsafe { command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGTERM)?)) };
    command
}
