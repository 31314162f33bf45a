//! The user's `--command`, run while every task is alive.

use std::io::{self, IsTerminal};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::args::Format;
use crate::children::{self, Group};
use crate::signals;

/// Runs the user's command and waits for it; a signal to this process ends it as well.
pub(crate) fn run(line: &str, format: Format) -> anyhow::Result<()> {
    let line = line.replace("{pid}", &std::process::id().to_string());
    let mut command = Command::new("sh");
    command.arg("-c").arg(&line);
    if format == Format::Json {
        command.stdout(Stdio::from(io::stderr()));
    }
    // Somebody at a terminal may want to type into what they run.
    let group = match io::stdin().is_terminal() {
        true => Group::Shared,
        false => Group::Own,
    };
    let ended = children::run(&mut command, group, None);
    let status = ended.context("--command: cannot run sh")?.status;
    if !status.success() {
        match signals::received() {
            Some(_) => bail!("--command was interrupted: {line}"),
            None => bail!("--command ended with {status}: {line}"),
        }
    }
    Ok(())
}
