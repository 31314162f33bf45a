//! What this process may raise.

use serde::Serialize;

use super::system::{CAP_SYS_RESOURCE, System};

/// Rights of this process to raise limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rights {
    /// Its effective user is root, of this user namespace.
    pub root: bool,
    /// That root is the system's own and not a user namespace's.
    pub first_namespace: bool,
    /// CAP_SYS_RESOURCE, which raising a hard limit takes.
    pub sys_resource: CapabilityState,
    /// Root can write kernel parameters (/proc/sys).
    pub sysctls_writable: bool,
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
    /// The kernel does not say.
    Unknown,
}

impl Rights {
    pub(super) fn of(system: &System) -> Self {
        let sys_resource = match system.effective {
            None => CapabilityState::Unknown,
            Some(_) if system.can(CAP_SYS_RESOURCE) => CapabilityState::Held,
            Some(_) if system.is_withheld(CAP_SYS_RESOURCE) => CapabilityState::Withheld,
            Some(_) => CapabilityState::NotHeld,
        };
        Rights {
            root: system.is_root(),
            first_namespace: system.first_namespace,
            sys_resource,
            sysctls_writable: !system.sysctl_is_read_only,
        }
    }
}
