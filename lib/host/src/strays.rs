//! Processes that a child has left behind: this process becomes their parent, and ends them.

use std::fs;
use std::io::{self, ErrorKind};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// Time that killed processes have to end: one that waits in the kernel may not.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pause between two looks.
const RETRY: Duration = Duration::from_millis(1);

/// A process, as a line of /proc/PID/stat (proc_pid_stat(5)) tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// Name of its program, shortened by the kernel to 15 bytes.
    pub name: String,
    /// True if it has ended, and nobody has awaited it.
    pub is_zombie: bool,
    /// True if it is a thread of the kernel.
    pub is_of_kernel: bool,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    pub major_faults: u64,
    /// CPU time of children that it has awaited, in ticks.
    pub awaited: u64,
}

impl Process {
    /// The process of that number, if there is one.
    pub fn with_pid(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Process::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(stat: &str) -> Option<Self> {
        let (pid, rest) = stat.split_once(" (")?;
        // A name may have brackets and spaces in it.
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        // By their numbers in the manual.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Process {
            pid: pid.parse().ok()?,
            parent: number(4)? as i32,
            group: number(5)? as i32,
            name: name.to_owned(),
            is_zombie: fields[0] == "Z",
            // PF_KTHREAD of include/linux/sched.h.
            is_of_kernel: number(9)? & 0x0020_0000 != 0,
            minor_faults: number(10)?,
            major_faults: number(12)?,
            awaited: number(16)?.saturating_add(number(17)?),
        })
    }
}

/// Makes this process the parent of whatever its descendants leave behind (PR_SET_CHILD_SUBREAPER of prctl(2)).
pub fn adopt() -> nix::Result<()> {
    prctl::set_child_subreaper(true)
}

/// All processes; none where there is no /proc, which alone tells.
pub fn processes() -> io::Result<Vec<Process>> {
    let entries = match fs::read_dir("/proc") {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // One may end while the folder is read.
    Ok(pids.filter_map(Process::with_pid).collect())
}

/// Children of this process, adopted ones among them.
pub fn children() -> io::Result<Vec<Process>> {
    let parent = std::process::id() as i32;
    Ok(processes()?.into_iter().filter(|process| process.parent == parent).collect())
}

/// Ends the children that `is_left` is true of, and those that they leave behind in turn. Returns the ones that
/// had not ended by themselves.
pub fn end(is_left: impl Fn(&Process) -> bool) -> io::Result<Vec<Process>> {
    let begun = Instant::now();
    let mut ended: Vec<Process> = Vec::new();
    loop {
        let left: Vec<Process> = children()?.into_iter().filter(&is_left).collect();
        if left.is_empty() || begun.elapsed() > PATIENCE {
            return Ok(ended);
        }
        for child in left {
            let pid = Pid::from_raw(child.pid);
            // Nobody else awaits it, so that its number is its own until then.
            for result in [kill(pid, Signal::SIGKILL), reap(pid)] {
                result.or_else(|e| if e == Errno::ESRCH { Ok(()) } else { Err(e) })?;
            }
            if !child.is_zombie && ended.iter().all(|other| other.pid != child.pid) {
                ended.push(child);
            }
        }
        thread::sleep(RETRY);
    }
}

/// Awaits a child if it has ended.
fn reap(pid: Pid) -> nix::Result<()> {
    waitpid(pid, Some(WaitPidFlag::WNOHANG)).map(drop)
}

/// Names of processes in a line, each once.
pub fn names(processes: &[Process]) -> String {
    let mut names: Vec<&str> = processes.iter().map(|child| child.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_name_is() {
        let line = "7 (a) S 1 (b) Z 5 6 7 0 -1 4194304 10 11 12 13 14 15 16 17 20 0 1 0 5";
        let process = Process {
            pid: 7,
            parent: 5,
            group: 6,
            name: "a) S 1 (b".to_owned(),
            is_zombie: true,
            is_of_kernel: false,
            minor_faults: 10,
            major_faults: 12,
            awaited: 33,
        };
        assert_eq!(Process::parse(line), Some(process));
        for cut in ["", "7 (a", "7 (a) S 5 6", "x (a) S 5 6 7 0 -1 4194304 10 11 12 13 14 15 16 17"]
        {
            assert_eq!(Process::parse(cut), None, "{cut}");
        }
    }
}
