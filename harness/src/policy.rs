//! The scheduling policy of the process: sched(7).

#![expect(
    unsafe_code,
    reason = "sched_setscheduler(2) and its kin have no safe wrappers"
)]

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::bail;
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use serde::{Serialize, Serializer};

use crate::{limits, machine};

/// The lowest priority of SCHED_FIFO: enough to run before all that is not real-time.
const LOWEST: i32 = 1;

/// A scheduling policy that a program may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Policy {
    /// SCHED_OTHER, which most programs run under: a woken thread may preempt the one that runs
    Other,
    /// SCHED_BATCH: the same shares, but a woken thread preempts nobody
    Batch,
    /// SCHED_FIFO with priority 1: runs before everything that is not real-time, until it sleeps.
    /// It takes CAP_SYS_NICE or a real-time priority (ulimit -r). The kernel stops what does not
    /// sleep for 50 ms of each second (kernel.sched_rt_runtime_us; since Linux 6.12 mostly where
    /// others wait for that CPU only), so that the machine can still be used and the run be
    /// interrupted; but whatever shares a CPU with it waits until then. --command runs under the
    /// policy that this program was started with
    Fifo,
}

impl Policy {
    fn number(self) -> libc::c_int {
        match self {
            Policy::Other => libc::SCHED_OTHER,
            Policy::Batch => libc::SCHED_BATCH,
            Policy::Fifo => libc::SCHED_FIFO,
        }
    }

    fn set(self) -> anyhow::Result<()> {
        let before = Scheduling::now()?;
        let wanted = Scheduling {
            policy: self.number(),
            priority: if self == Policy::Fifo { LOWEST } else { 0 },
        };
        if wanted == before {
            return Ok(());
        }
        match wanted.apply() {
            Ok(()) => {
                let _ = BEFORE.set(before);
                Ok(())
            }
            Err(Errno::EPERM) if self == Policy::Fifo => bail!("--policy fifo: {}", Denied::now()),
            Err(e) => bail!("--policy {self}: sched_setscheduler(2) failed: {e}"),
        }
    }
}

/// Puts the calling thread, and all that it will create, under the policy that is asked for, if one
/// is. Call it before there are other threads.
///
/// # Errors
/// Names the right that is missing.
pub(crate) fn settle(asked: Option<Policy>) -> anyhow::Result<()> {
    if let Some(policy) = asked {
        policy.set()?;
    }
    if let Ok(Scheduling { policy, .. }) = Scheduling::now() {
        let is_real_time = [libc::SCHED_FIFO, libc::SCHED_RR].contains(&policy);
        REAL_TIME.store(is_real_time, Ordering::Relaxed);
    }
    Ok(())
}

/// Lets those threads run first that have waited longer, where the policy itself would not: under
/// SCHED_FIFO a thread keeps its CPU until it sleeps. So nobody may ask again and again for what
/// another thread has to do, and be it to take a signal, without calling this.
pub(crate) fn give_way() {
    if REAL_TIME.load(Ordering::Relaxed) {
        thread::yield_now();
    }
}

/// Whether the process is under a real-time policy.
static REAL_TIME: AtomicBool = AtomicBool::new(false);

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.number()))
    }
}

/// What a record says: the policy that was asked for, or else the one that this process was
/// started with; null where the kernel does not tell.
pub(crate) fn in_force<S: Serializer>(
    asked: &Option<Policy>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let policy = match asked {
        Some(policy) => Some(policy.number()),
        None => Scheduling::now().ok().map(|now| now.policy),
    };
    policy.map(name).serialize(serializer)
}

/// The name of a policy, as include/uapi/linux/sched.h numbers them.
fn name(policy: libc::c_int) -> String {
    let names = [
        "other", "fifo", "rr", "batch", "", "idle", "deadline", "ext",
    ];
    let known = usize::try_from(policy).ok().and_then(|p| names.get(p));
    match known {
        Some(&name) if !name.is_empty() => name.to_owned(),
        _ => policy.to_string(),
    }
}

/// The policy that this process had before it set its own.
static BEFORE: OnceLock<Scheduling> = OnceLock::new();

/// What a child of this process runs under, where that is not what it would inherit.
pub(crate) fn of_children() -> Option<Scheduling> {
    BEFORE.get().copied()
}

/// A policy with its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheduling {
    policy: libc::c_int,
    priority: libc::c_int,
}

impl Scheduling {
    /// That of the calling thread.
    fn now() -> nix::Result<Self> {
        let mut param = libc::sched_param { sched_priority: 0 };
        // SAFETY: both calls are about the calling thread; the second one writes to `param` alone.
        let (policy, got) = unsafe {
            (
                libc::sched_getscheduler(0),
                libc::sched_getparam(0, &raw mut param),
            )
        };
        Errno::result(got)?;
        Ok(Scheduling {
            // Whether children start afresh is a flag in the same number.
            policy: Errno::result(policy)? & !libc::SCHED_RESET_ON_FORK,
            priority: param.sched_priority,
        })
    }

    /// Puts the calling thread under it. Only a system call: it may be made between fork and exec.
    ///
    /// # Errors
    /// EPERM without the right.
    pub(crate) fn apply(self) -> nix::Result<()> {
        let param = libc::sched_param {
            sched_priority: self.priority,
        };
        // SAFETY: the call reads `param`, which outlives it, and changes the calling thread alone.
        Errno::result(unsafe { libc::sched_setscheduler(0, self.policy, &raw const param) })?;
        Ok(())
    }
}

/// Why a real-time policy is denied. Kernel facts (`__sched_setscheduler`, kernel/sched/syscalls.c):
/// it takes CAP_SYS_NICE in the first user namespace, or RLIMIT_RTPRIO; and with
/// CONFIG_RT_GROUP_SCHED, root or not, a control group whose `cpu.rt_runtime_us` is not 0. A new
/// group of version 1 has 0, and one of version 2 has no such file and always 0.
#[derive(Debug, PartialEq, Eq)]
enum Denied {
    NoRight,
    /// The file of the control group that says so.
    NoBandwidth(String),
    Unknown,
}

impl Denied {
    fn now() -> Self {
        let (soft, _) = getrlimit(Resource::RLIMIT_RTPRIO).unwrap_or_default();
        if soft < LOWEST as libc::rlim_t && limits::may_schedule() == Some(false) {
            return Denied::NoRight;
        }
        machine::without_realtime().map_or(Denied::Unknown, Denied::NoBandwidth)
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denied::NoRight => f.write_str(
                "this process has no right to a real-time policy, which takes CAP_SYS_NICE or a \
                 real-time priority (RLIMIT_RTPRIO): start it as root, or in a shell that has run \
                 `ulimit -r 1`, which takes an rtprio in /etc/security/limits.conf",
            ),
            Denied::NoBandwidth(file) => write!(
                f,
                "the control group of this process has no real-time bandwidth (CONFIG_RT_GROUP_SCHED), \
                 which root needs too: {file} is 0: write some of the µs of its period there, or start it \
                 in another group"
            ),
            Denied::Unknown => f.write_str(
                "sched_setscheduler(2) is refused, and nothing that could be read here says why: it takes \
                 CAP_SYS_NICE or a real-time priority (`ulimit -r 1`), a control group that has \
                 real-time bandwidth (CONFIG_RT_GROUP_SCHED: try it in the root group), and a sandbox \
                 that allows the call",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_that_of_a_thread_and_of_those_that_it_creates() {
        let policies = thread::spawn(|| {
            let before = Scheduling::now().unwrap();
            Policy::Batch.set().unwrap();
            let own = Scheduling::now().unwrap();
            let inherited = thread::spawn(|| Scheduling::now().unwrap()).join().unwrap();
            Policy::Batch.set().unwrap();
            (before, own, inherited)
        });
        let (before, own, inherited) = policies.join().unwrap();
        assert_eq!((own.policy, own.priority), (libc::SCHED_BATCH, 0));
        assert_eq!(inherited, own);
        assert_eq!(of_children(), Some(before));
        assert_eq!(Scheduling::now().unwrap(), before, "of another thread");
    }

    #[test]
    fn policies_have_names() {
        for (policy, expected) in [
            (Policy::Other, "other"),
            (Policy::Batch, "batch"),
            (Policy::Fifo, "fifo"),
        ] {
            assert_eq!(policy.to_string(), expected);
            let json = in_force(&Some(policy), serde_json::value::Serializer);
            assert_eq!(json.unwrap(), expected);
        }
        assert_eq!(name(libc::SCHED_IDLE), "idle");
        assert_eq!(name(4), "4");
        assert_eq!(name(-1), "-1");
    }
}
