//! Commands around the slices of a duel's sides: what changes a setting of the system, and puts it back.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use facts::Side;

use crate::system::console;

/// Commands of a side, for `sh -c`.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Runs before its processes start and before a group of its slices.
    pub before: Option<String>,
    /// Runs after them, whatever became of them.
    pub after: Option<String>,
}

pub(super) type Failed = (Side, String);

/// The side whose commands stand now.
pub(super) struct Within<'a> {
    commands: &'a [Around; 2],
    timeout: Duration,
    side: Option<Side>,
}

impl<'a> Within<'a> {
    pub(super) fn none(commands: &'a [Around; 2], timeout: Duration) -> Self {
        Within { commands, timeout, side: None }
    }

    /// True if no side has a command.
    pub(super) fn is_plain(&self) -> bool {
        self.commands.iter().all(|around| around.before.is_none() && around.after.is_none())
    }

    /// Changes the side; true if a command was run. If one fails, no side's commands stand.
    pub(super) fn enter(&mut self, side: Option<Side>) -> Result<bool, Failed> {
        if self.is_plain() || self.side == side {
            return Ok(false);
        }
        self.leave()?;
        self.side = side;
        let entered = self.run(side, |around| &around.before);
        if entered.is_err() {
            // What it did in part, the other one puts back.
            drop(self.leave());
        }
        entered.map(|()| true)
    }

    fn leave(&mut self) -> Result<(), Failed> {
        let side = self.side.take();
        self.run(side, |around| &around.after)
    }

    fn run(
        &self,
        side: Option<Side>,
        which: fn(&'a Around) -> &'a Option<String>,
    ) -> Result<(), Failed> {
        let Some(side) = side else { return Ok(()) };
        let line = which(&self.commands[usize::from(side == Side::B)]);
        line.as_deref().map_or(Ok(()), |line| self.execute(line)).map_err(|why| (side, why))
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
