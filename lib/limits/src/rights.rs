//! Rights of this process to raise limits, and to pass them.

use serde::Serialize;

use host::cgroup::ControlGroups;
use host::source::{Source, word_after};

/// Bits of capabilities(7).
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_SYS_RESOURCE: u64 = 1 << 24;

/// Rights of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rights {
    /// Its user is root, of this user namespace.
    pub root: bool,
    /// That root is the system's own and not a user namespace's.
    pub first_namespace: bool,
    /// CAP_SYS_RESOURCE, which raising a hard limit takes.
    pub sys_resource: CapabilityState,
    /// Root can write kernel parameters (/proc/sys).
    pub sysctls_writable: bool,
    /// Root can write limits of control groups.
    pub groups_writable: bool,
    /// `ulimit -u` does not bind it (`copy_process`, kernel/fork.c).
    #[serde(skip)]
    pub(super) passes_nproc: bool,
    /// fs.file-max does not bind it (`alloc_empty_file`, fs/file_table.c).
    #[serde(skip)]
    pub(super) passes_file_max: bool,
}

/// State of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapabilityState {
    Held,
    /// This process does not have it; root may.
    NotHeld,
    /// No process that is started here can have it, root included: it is not in the bounding set.
    Withheld,
}

impl Rights {
    pub(super) fn read(source: &Source, groups: &ControlGroups) -> Self {
        let status = source.read("/proc/self/status").unwrap_or_default();
        // Without the file the kernel has no other namespace.
        let uid_map = source.read("/proc/self/uid_map").ok();
        let first_namespace =
            uid_map.is_none_or(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
        // Limits of the system regard no capability of a user namespace.
        let effective = capabilities(&status, "CapEff:").filter(|_| first_namespace).unwrap_or(0);
        let bounding = capabilities(&status, "CapBnd:").unwrap_or(u64::MAX);
        let sys_resource = if effective & CAP_SYS_RESOURCE != 0 {
            CapabilityState::Held
        } else if !first_namespace || bounding & CAP_SYS_RESOURCE == 0 {
            CapabilityState::Withheld
        } else {
            CapabilityState::NotHeld
        };
        let root = word_after(&status, "Uid:") == Some(0);
        let mut groups_writable = true;
        for controller in ["pids", "memory"] {
            let read_only = groups.groups(source, controller).is_ok_and(|groups| groups.read_only);
            groups_writable &= !read_only;
        }
        Rights {
            root,
            first_namespace,
            sys_resource,
            sysctls_writable: !groups.sysctls_are_read_only(),
            groups_writable,
            passes_nproc: root && first_namespace
                || effective & (CAP_SYS_ADMIN | CAP_SYS_RESOURCE) != 0,
            passes_file_max: effective & CAP_SYS_ADMIN != 0,
        }
    }
}

/// A set of capabilities of a process, as proc_pid_status(5) has it.
fn capabilities(status: &str, name: &str) -> Option<u64> {
    u64::from_str_radix(&word_after::<String>(status, name)?, 16).ok()
}
