//! The user's `--command`, run while all tasks are alive.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use host::{console, signals, strays};

/// Runs a command to its end, and ends what it leaves running; a signal to this process ends it as well.
pub(crate) fn run(line: &str) -> anyhow::Result<()> {
    let cannot = "--command: cannot watch for processes that it leaves running";
    strays::adopt().context(cannot)?;
    let tasks: BTreeSet<i32> =
        strays::children().context(cannot)?.into_iter().map(|child| child.pid).collect();
    let line = line.replace("{pid}", &std::process::id().to_string());
    let mut child =
        Command::new("sh").args(["-c", &line]).spawn().context("--command: cannot run sh")?;
    let mut told = false;
    let status = loop {
        if let Some(status) = child.try_wait().context("--command: cannot await it")? {
            break status;
        }
        if signals::received().is_some() && !told {
            told = true;
            // It may have ended meanwhile.
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
        }
        thread::sleep(Duration::from_millis(5));
    };
    let left = strays::end(|child| !tasks.contains(&child.pid)).context(cannot)?;
    if !left.is_empty() {
        let names = strays::names(&left);
        console::say(&format!("--command left processes running, and they were ended: {names}"));
    }
    ensure!(status.success(), "--command ended with {status}: {line}");
    Ok(())
}
