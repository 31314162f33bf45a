//! Child processes that never outlive their parent.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};

use crate::signals;

/// Runs a command until it ends, asleep in waitpid(2) meanwhile. A signal that asks this process
/// to stop asks the child too, and if this process is killed, so is the child.
///
/// # Errors
/// When the command cannot be started or awaited.
pub fn run(command: &mut Command) -> io::Result<ExitStatus> {
    // SAFETY: prctl is async-signal-safe and touches no memory of ours. Its only failure would be
    // an unknown signal.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command.spawn()?;
    let _relay = signals::Relay::to(child.id());
    child.wait()
}
