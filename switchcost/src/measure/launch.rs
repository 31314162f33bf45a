//! Start of a program in its setting.

#![expect(unsafe_code, reason = "a child is prepared between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use super::process_group::ProcessGroup;
use crate::plan::setting::Setting;
use crate::system::executable::Executable;

/// Starts a program. It is ended if it takes longer than `limit` to answer.
pub(super) fn start(
    program: &Executable,
    args: &[String],
    setting: &Setting,
    limit: Duration,
) -> anyhow::Result<ProcessGroup> {
    let mut command = command(program, setting);
    command.args(args);
    let applied = setting.clone();
    let name = command.get_program().to_string_lossy().into_owned();
    // SAFETY: the calls in it are system calls, async-signal-safe, and allocate nothing.
    unsafe { command.pre_exec(move || applied.apply()) };
    ProcessGroup::spawn(command, limit)
        .map_err(|e| match e.downcast_ref::<io::Error>().and_then(|io| setting.explain(io)) {
            Some(what) => e.context(what),
            None => e,
        })
        .with_context(|| format!("cannot start {name}"))
}

/// The command that starts a program.
pub(crate) fn command(program: &Executable, setting: &Setting) -> Command {
    let mut command = match setting.wrap.split_first() {
        Some((wrapper, words)) => {
            let mut command = Command::new(wrapper);
            command.args(words).arg(&program.path);
            command
        }
        None => Command::new(&program.path),
    };
    if let (true, Some(name)) = (setting.wrap.is_empty(), program.path.file_name()) {
        // Keeps the path of the build out of argv[0].
        command.arg0(name);
    }
    command.envs(setting.env.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    command.args(&program.args);
    command
}
