//! Whose events are counted.

use std::fs::File;
use std::io::Read;

use nix::unistd::Pid;

use crate::processes::Processes;
use crate::usage;

/// This process, the processes that its tasks are, and the CPUs of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    /// Processes besides this one.
    pub(crate) processes: Processes,
    /// The CPUs that the run may use.
    #[cfg_attr(
        not(feature = "perf"),
        expect(dead_code, reason = "perf events go by it")
    )]
    pub(crate) cpus: Vec<usize>,
}

impl Tasks {
    /// How many reads lie between two of [`Tasks::calls`] and are its own: that of this process's
    /// file, after which the first one ends, and those of the others, by which the second begins.
    pub(super) fn own_reads(&self) -> u64 {
        1 + self.processes.pids().len() as u64
    }

    /// The threads of all of them.
    #[cfg(feature = "perf")]
    pub(crate) fn threads(&self) -> Vec<Pid> {
        let processes = [nix::unistd::getpid()].into_iter();
        let processes = processes.chain(self.processes.pids().iter().copied());
        processes.filter_map(usage::threads).flatten().collect()
    }

    /// How many calls that read and that write all of them have made: `syscr` and `syscw` of
    /// /proc/PID/io. This process's are taken last.
    pub(super) fn calls(&self) -> Option<(u64, u64)> {
        let others = self.processes.pids().iter().map(Pid::to_string);
        let all = others.chain(["self".to_owned()]);
        all.map(|process| {
            // One read, so as to know how many there are.
            let mut bytes = [0; 512];
            let mut file = File::open(format!("/proc/{process}/io")).ok()?;
            let length = file.read(&mut bytes).ok()?;
            let text = str::from_utf8(&bytes[..length]).ok()?;
            Some((usage::field(text, "syscr")?, usage::field(text, "syscw")?))
        })
        .try_fold((0, 0), |(reads, writes), calls| {
            let (r, w) = calls?;
            Some((reads + r, writes + w))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_makes_the_sum_unknown() {
        // Beyond the largest pid_max.
        let tasks = Tasks {
            processes: Processes::new(&[Pid::from_raw(1 << 23)]),
            ..Tasks::default()
        };
        assert_eq!(tasks.calls(), None);
    }

    #[test]
    fn its_own_reads_are_known() {
        let tasks = Tasks {
            processes: Processes::new(&[nix::unistd::getppid()]),
            ..Tasks::default()
        };
        for tasks in [Tasks::default(), tasks] {
            let own = || Tasks::default().calls();
            let _ = tasks.calls();
            // Where other tests read meanwhile there are more.
            if let Some(((before, _), (after, _))) = own().zip(own()) {
                assert!(after - before >= Tasks::default().own_reads());
            }
            assert_eq!(tasks.own_reads(), 1 + tasks.processes.pids().len() as u64);
        }
    }

    #[test]
    fn another_process_adds_its_own() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let tasks = Tasks {
            processes: Processes::new(&[Pid::from_raw(child.id() as i32)]),
            ..Tasks::default()
        };
        let alone = Tasks::default().calls().zip(tasks.calls());
        drop(child.stdin.take());
        child.wait().unwrap();
        if let Some(((reads, _), (more, _))) = alone {
            assert!(more > reads, "{more} {reads}");
        }
    }
}
