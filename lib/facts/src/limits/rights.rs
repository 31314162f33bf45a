//! Rights of this process to raise limits, and to pass them.

use contract::limits::{capabilities, is_first_namespace, may_pass_nproc};
use serde::Serialize;

use crate::cgroup::ControlGroups;
use crate::source::{Source, word_after};

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
    /// `ulimit -u` does not bind it.
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
    /// This process has it.
    Held,
    /// This process does not have it; root may.
    NotHeld,
    /// No process that is started here can have it, root included: it is not in the bounding set.
    Withheld,
}

impl Rights {
    pub(super) fn read(source: &Source, groups: &ControlGroups) -> Self {
        let status = source.read("/proc/self/status").unwrap_or_default();
        let uid_map = source.read("/proc/self/uid_map").ok();
        let first_namespace = is_first_namespace(uid_map.as_deref());
        let effective = capabilities(&status, uid_map.as_deref()).unwrap_or(0);
        let bounding = word_after::<String>(&status, "CapBnd:")
            .and_then(|hex| u64::from_str_radix(&hex, 16).ok())
            .unwrap_or(u64::MAX);
        let sys_resource = if effective & CAP_SYS_RESOURCE != 0 {
            CapabilityState::Held
        } else if !first_namespace || bounding & CAP_SYS_RESOURCE == 0 {
            CapabilityState::Withheld
        } else {
            CapabilityState::NotHeld
        };
        Rights {
            root: word_after(&status, "Uid:") == Some(0),
            first_namespace,
            sys_resource,
            sysctls_writable: !groups.sysctls_are_read_only(),
            passes_nproc: may_pass_nproc(&status, uid_map.as_deref()),
            passes_file_max: effective & CAP_SYS_ADMIN != 0,
        }
    }
}
