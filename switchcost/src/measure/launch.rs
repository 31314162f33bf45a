//! Start of a program in its setting.

#![expect(unsafe_code, reason = "a child is prepared between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::Pid;
use observe::affinity;
use record::{Cpus, Policy, Setting};

use super::child::Child;
use crate::system::program::Program;

/// Starts a program. It is ended if it takes longer than `limit` to answer.
pub(super) fn start(
    program: &Program,
    args: &[String],
    setting: &Setting,
    limit: Duration,
) -> anyhow::Result<Child> {
    let mut command = command(program, setting);
    command.args(args);
    let applied = setting.clone();
    let name = command.get_program().to_string_lossy().into_owned();
    let parent = Pid::this();
    // SAFETY: the calls in it are system calls, async-signal-safe, and allocate nothing.
    unsafe {
        command.pre_exec(move || {
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            // Otherwise the runner died before the call.
            if Pid::parent() != parent {
                return Err(Errno::ESRCH.into());
            }
            apply(&applied)
        });
    }
    Child::spawn(command, limit)
        .map_err(|e| match e.downcast_ref::<io::Error>().and_then(|io| refused(setting, io)) {
            Some(what) => e.context(what),
            None => e,
        })
        .with_context(|| format!("cannot start {name}"))
}

/// The command that starts a program.
pub(crate) fn command(program: &Program, setting: &Setting) -> Command {
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
    command.envs(&setting.env);
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    command.args(&program.args);
    command
}

/// Applies a setting to the calling thread, between fork and exec: system calls alone.
fn apply(setting: &Setting) -> io::Result<()> {
    match &setting.cpus {
        None => {}
        Some(Cpus::List(cpus)) => affinity::restrict(cpus)?,
        // It was not placed.
        Some(_) => return Err(Errno::EINVAL.into()),
    }
    // What the runner ignores, or nohup(1) for it, is nothing to the program.
    for ignored in [Signal::SIGXFSZ, Signal::SIGINT, Signal::SIGHUP] {
        // SAFETY: no handler is set.
        unsafe { signal(ignored, SigHandler::SigDfl) }?;
    }
    let (number, sched_priority) = match setting.policy {
        None => return Ok(()),
        Some(Policy::Other) => (libc::SCHED_OTHER, 0),
        Some(Policy::Batch) => (libc::SCHED_BATCH, 0),
        Some(Policy::Fifo) => (libc::SCHED_FIFO, 1),
    };
    let param = libc::sched_param { sched_priority };
    // SAFETY: nix has no sched_setscheduler(2); it reads `param`, which outlives it, and changes the calling thread alone.
    Errno::result(unsafe { libc::sched_setscheduler(0, number, &raw const param) })?;
    Ok(())
}

/// The part of a setting, or the limit, that refused the start of a program by this error.
fn refused(setting: &Setting, error: &io::Error) -> Option<String> {
    let refusal = match error.raw_os_error().map(Errno::from_raw)? {
        Errno::EPERM if setting.policy == Some(Policy::Fifo) => {
            "policy fifo: it needs CAP_SYS_NICE or a real-time priority (`ulimit -r 1`), and a control group with real-time bandwidth"
        }
        Errno::EINVAL => {
            let cpus = setting.cpus.as_ref()?;
            return Some(format!("CPUs {cpus}: this process may use none of them"));
        }
        Errno::EMFILE => "no descriptors are left: raise `ulimit -n`",
        Errno::ENFILE => "no open files are left: raise fs.file-max by sysctl(8)",
        Errno::EAGAIN => {
            "no processes are left: raise `ulimit -u`, or pids.max of the control group"
        }
        _ => return None,
    };
    Some(refusal.to_owned())
}
