//! Commands around the slices of a duel's second side, which change a setting of the system and restore it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::killpg;
use nix::unistd::Pid;

use super::child::Patience;
use crate::system::{console, signals};

/// Pause between two looks whether a command has ended.
const PAUSE: Duration = Duration::from_millis(1);

/// Commands, and whether their setting is in place.
pub(super) struct Around<'a> {
    pub(super) commands: Option<&'a [String; 2]>,
    pub(super) timeout: Duration,
    pub(super) is_in_place: bool,
}

impl Around<'_> {
    /// Switches to this side's setting. Returns true if that ran a command. If a command fails, the setting counts as
    /// restored.
    pub(super) fn enter(&mut self, is_second: bool) -> Result<bool, String> {
        let Some([before, after]) = self.commands.filter(|_| self.is_in_place != is_second) else {
            return Ok(false);
        };
        self.is_in_place = is_second;
        if !is_second {
            // Interrupting the runner must not end the command that restores a setting.
            return self.execute(after, || 0).map(|()| true);
        }
        let entered = self.execute(before, signals::requests);
        if entered.is_err() {
            // The other command undoes what this one did in part.
            drop(self.enter(false));
        }
        entered.map(|()| true)
    }

    /// Runs a command in a process group of its own until its shell ends; what that leaves running may keep its outputs
    /// open. It is ended when its time is up, or after so many requests to stop.
    fn execute(&self, line: &str, requests: fn() -> u32) -> Result<(), String> {
        self.try_execute(line, requests).map_err(|why| format!("`{line}`: {why}"))
    }

    fn try_execute(&self, line: &str, requests: fn() -> u32) -> Result<(), String> {
        let words = memfd_create(c"words", MFdFlags::MFD_CLOEXEC).map_err(|e| e.to_string())?;
        let words = File::from(words);
        let mut command = Command::new("sh");
        command.args(["-c", line]).process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(words.try_clone().map_err(|e| e.to_string())?);
        let mut shell = command.spawn().map_err(|e| e.to_string())?;
        let mut patience = Patience::new(self.timeout);
        let status = loop {
            if let Some(status) = shell.try_wait().map_err(|e| e.to_string())? {
                break status;
            }
            for &signal in patience.press(requests()).map_err(|e| e.to_string())? {
                // It fails only if the group has ended.
                let _ = killpg(Pid::from_raw(shell.id() as i32), signal);
            }
            thread::sleep(PAUSE);
        };
        if status.success() {
            return Ok(());
        }
        if patience.is_overdue() {
            return Err(patience.timeout("its end").to_string());
        }
        let mut start = [0; 1024];
        let length = words.read_at(&mut start, 0).map_err(|e| e.to_string())?;
        let words = String::from_utf8_lossy(&start[..length]);
        let words = words.lines().next().unwrap_or("it printed no reason");
        Err(format!("{status}: {words}"))
    }
}

impl Drop for Around<'_> {
    fn drop(&mut self) {
        if let Err(why) = self.enter(false) {
            console::say(format_args!("switchcost: B: {why}"));
        }
    }
}
