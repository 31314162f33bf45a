//! The settings that a program is started with, apart from its flags.

use std::fmt;
use std::io;

use nix::sched::sched_setaffinity;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::Pid;

use super::scheduling::{Cpus, Policy};
use crate::system::console::{shell_line, shell_word};

/// Setting of a program's process; what is `None` or empty is inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Setting {
    /// CPUs that it may use.
    pub cpus: Option<Cpus>,
    /// Scheduling policy.
    pub policy: Option<Policy>,
    /// Timer slack, in ns.
    pub timer_slack: Option<u64>,
    /// Environment variables in addition to the runner's.
    pub env: Vec<(String, String)>,
    /// Words of a command that executes the program.
    pub wrap: Vec<String>,
}

impl Setting {
    /// Takes the parts of another one that it has; further words execute those that are there.
    pub(super) fn put(&mut self, other: &Setting) {
        let Setting { cpus, policy, timer_slack, env, wrap } = other.clone();
        self.cpus = cpus.or(self.cpus.take());
        self.policy = policy.or(self.policy);
        self.timer_slack = timer_slack.or(self.timer_slack);
        self.env.retain(|(name, _)| env.iter().all(|(other, _)| other != name));
        self.env.extend(env);
        self.wrap.extend(wrap);
    }

    /// Applies it to the calling thread, between fork and exec: system calls alone.
    #[expect(unsafe_code, reason = "the default handler is set between fork and exec")]
    pub(crate) fn apply(&self) -> io::Result<()> {
        if let Some(cpus) = &self.cpus {
            sched_setaffinity(Pid::from_raw(0), &cpus.set()?)?;
        }
        if let Some(slack) = self.timer_slack {
            nix::sys::prctl::set_timerslack(slack)?;
        }
        // What the runner ignores, or nohup(1) for it, is nothing to the program.
        for ignored in [Signal::SIGXFSZ, Signal::SIGINT, Signal::SIGHUP] {
            // SAFETY: no handler is set.
            unsafe { signal(ignored, SigHandler::SigDfl) }?;
        }
        self.policy.map_or(Ok(()), Policy::apply)
    }

    /// The refused part, if starting a program failed by this error.
    pub(crate) fn explain(&self, error: &io::Error) -> Option<String> {
        match (error.raw_os_error(), &self.cpus, self.policy) {
            (Some(libc::EPERM), _, Some(Policy::Fifo)) => Some(
                "policy fifo: it needs CAP_SYS_NICE or a real-time priority (`ulimit -r 1`), and a control group with real-time bandwidth"
                    .to_owned(),
            ),
            (Some(libc::EINVAL), Some(cpus), _) => {
                Some(format!("CPUs {cpus}: this process may use none of them"))
            }
            _ => None,
        }
    }
}

/// The parts that a record has no field of its own for, as a command line has them.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let env = self.env.iter().map(|(name, value)| format!("{name}={}", shell_word(value)));
        let slack = self.timer_slack.map(|ns| format!("slack={ns}ns"));
        let wrap = Some(&self.wrap).filter(|wrap| !wrap.is_empty());
        let wrap = wrap.map(|wrap| format!("wrap={}", shell_word(&shell_line(wrap))));
        let words: Vec<String> = env.chain(slack).chain(wrap).collect();
        f.write_str(&words.join(" "))
    }
}
