//! Child processes that never outlive their parent.

#![expect(unsafe_code, reason = "a child is prepared between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};

use crate::signals;

/// Which signals of the terminal a child receives, and who else receives what is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A process group of its own: a signal reaches the child and all that it has started.
    Own,
    /// The group of this process: the child may read from the terminal, and Ctrl-C reaches it.
    Shared,
}

/// Runs a command until it ends, asleep in waitpid(2) meanwhile. A signal that asks this process
/// to stop asks the child too, and if this process is killed, so is the child.
///
/// # Errors
/// When the command cannot be started or awaited.
pub fn run(command: &mut Command, group: Group) -> io::Result<ExitStatus> {
    if group == Group::Own {
        command.process_group(0);
    }
    // SAFETY: prctl is async-signal-safe and touches no memory of ours. Its only failure would be
    // an unknown signal.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command.spawn()?;
    let id = child.id() as i32;
    let _relay = signals::Relay::to(match group {
        // kill(2) takes a group as a negative number.
        Group::Own => -id,
        Group::Shared => id,
    });
    child.wait()
}
