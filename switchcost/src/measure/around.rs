//! Commands around the slices of a duel's second side: what changes a setting of the system, and puts it back.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use facts::Side;

use crate::plan::lineup::Around;
use crate::system::console;

/// A side's command that failed, and how.
pub(super) type Failed = (Side, String);

/// The side whose commands stand now.
pub(super) struct Within<'a> {
    commands: &'a Around,
    timeout: Duration,
    side: Option<Side>,
}

impl<'a> Within<'a> {
    pub(super) fn none(commands: &'a Around, timeout: Duration) -> Self {
        Within { commands, timeout, side: None }
    }

    /// True if there is no command.
    pub(super) fn is_plain(&self) -> bool {
        *self.commands == Around::default()
    }

    /// Changes the side; true if a command was run.
    ///
    /// # Errors
    /// When a command fails, with its side; no side's commands stand then.
    pub(super) fn enter(&mut self, side: Option<Side>) -> Result<bool, Failed> {
        if self.is_plain() || self.side == side {
            return Ok(false);
        }
        self.leave()?;
        self.side = side;
        let entered = self.run(side, &self.commands.before);
        if entered.is_err() {
            // What it did in part, the other one puts back.
            drop(self.leave());
        }
        entered.map(|()| true)
    }

    fn leave(&mut self) -> Result<(), Failed> {
        let side = self.side.take();
        self.run(side, &self.commands.after)
    }

    /// Runs a command of the second side.
    fn run(&self, side: Option<Side>, line: &Option<String>) -> Result<(), Failed> {
        match line {
            Some(line) if side == Some(Side::B) => self.execute(line).map_err(|why| (Side::B, why)),
            _ => Ok(()),
        }
    }

    /// A group of its own: an interruption of the runner must not end what puts a setting back.
    fn execute(&self, line: &str) -> Result<(), String> {
        let mut command = Command::new("timeout");
        command.arg(self.timeout.as_secs().max(1).to_string()).args(["sh", "-c", line]);
        command.stdin(Stdio::null()).process_group(0);
        let output = command.output().map_err(|e| format!("timeout(1): {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let words = words.lines().next().unwrap_or("it does not say why");
        Err(format!("`{line}`: {}: {}", output.status, words))
    }
}

impl Drop for Within<'_> {
    fn drop(&mut self) {
        if let Err((side, why)) = self.leave() {
            console::say(format_args!("switchcost: {side:?}: {why}"));
        }
    }
}
