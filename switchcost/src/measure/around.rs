//! Commands around the slices of a duel's second side, which change a setting of the system and restore it.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::plan::lineup::Around;
use crate::system::console;

/// Commands, and whether their setting is in place.
pub(super) struct Within<'a> {
    commands: &'a Around,
    timeout: Duration,
    is_in_place: bool,
}

impl<'a> Within<'a> {
    pub(super) fn none(commands: &'a Around, timeout: Duration) -> Self {
        Within { commands, timeout, is_in_place: false }
    }

    /// True if there is no command.
    pub(super) fn is_plain(&self) -> bool {
        *self.commands == Around::default()
    }

    /// Switches to this side's setting. Returns true if that ran a command. If a command fails, the setting counts as
    /// restored.
    pub(super) fn enter(&mut self, is_second: bool) -> Result<bool, String> {
        if self.is_plain() || self.is_in_place == is_second {
            return Ok(false);
        }
        self.is_in_place = is_second;
        let line = if is_second { &self.commands.before } else { &self.commands.after };
        let entered = self.execute(line.as_deref());
        if is_second && entered.is_err() {
            // The other command undoes what this one did in part.
            drop(self.enter(false));
        }
        entered.map(|()| true)
    }

    /// In a process group of its own: interrupting the runner must not end the command that restores a setting.
    fn execute(&self, line: Option<&str>) -> Result<(), String> {
        let Some(line) = line else { return Ok(()) };
        let mut command = Command::new("timeout");
        command.arg(self.timeout.as_secs().max(1).to_string()).args(["sh", "-c", line]);
        command.stdin(Stdio::null()).process_group(0);
        let output = command.output().map_err(|e| format!("timeout(1): {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let words = words.lines().next().unwrap_or("it printed no reason");
        Err(format!("`{line}`: {}: {}", output.status, words))
    }
}

impl Drop for Within<'_> {
    fn drop(&mut self) {
        if let Err(why) = self.enter(false) {
            console::say(format_args!("switchcost: B: {why}"));
        }
    }
}
