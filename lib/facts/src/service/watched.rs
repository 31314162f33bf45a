//! Which processes are watched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::stat::{Stat, living};

/// Processes to watch.
#[derive(Clone, Debug)]
pub enum Watched {
    /// These, and nothing that they start.
    Processes(Vec<i32>),
    /// Those of a control group and of the groups in it, whenever they come.
    Group(PathBuf),
    /// All that this process starts, and what that starts.
    StartedBy(i32),
}

/// Makes sure that a process can be watched.
///
/// # Errors
/// Says that it is not there, is a zombie, or is a thread of the kernel.
pub fn ensure_watchable(pid: i32) -> Result<(), String> {
    let gone = || {
        format!(
            "there is no process {pid} here: it has ended, is in another pid namespace, or /proc hides it (hidepid)"
        )
    };
    let stat = Stat::read(pid).ok_or_else(gone)?;
    if matches!(stat.state, 'Z' | 'X') {
        return Err(format!("process {pid} ({}) is a zombie: it has ended", stat.name));
    }
    // PF_KTHREAD of include/linux/sched.h.
    if stat.flags & 0x0020_0000 != 0 {
        return Err(format!("{pid} ({}) is a thread of the kernel", stat.name));
    }
    Ok(())
}

impl Watched {
    /// The processes as they are now; the caller's own is none of a group's.
    ///
    /// # Errors
    /// When the `cgroup.procs` of a control group cannot be read.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        match self {
            Watched::Processes(pids) => Ok(pids.clone()),
            Watched::StartedBy(pid) => Ok(started_by(*pid)),
            Watched::Group(folder) => {
                let mut pids = of_group(folder)?;
                pids.retain(|pid| *pid != std::process::id() as i32);
                Ok(pids)
            }
        }
    }
}

fn of_group(folder: &Path) -> io::Result<Vec<i32>> {
    let text = fs::read_to_string(folder.join("cgroup.procs"))?;
    let mut pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // It may be removed meanwhile.
            pids.extend(of_group(&entry.path()).unwrap_or_default());
        }
    }
    Ok(pids)
}

/// Descendants of a process, each after its parent.
fn started_by(pid: i32) -> Vec<i32> {
    let all = living();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(all.iter().filter(|stat| stat.parent == parent).map(|stat| stat.pid));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_cannot_be_watched_is_named() {
        assert!(ensure_watchable(std::process::id() as i32).is_ok());
        let mut child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
        let pid = child.id() as i32;
        while !ensure_watchable(pid).is_err_and(|why| why.contains("zombie")) {
            thread::sleep(Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(ensure_watchable(pid).unwrap_err().contains("there is no process"));
        if Stat::read(2).is_some_and(|stat| stat.name == "kthreadd") {
            assert!(ensure_watchable(2).unwrap_err().contains("thread of the kernel"));
        }
    }
}
