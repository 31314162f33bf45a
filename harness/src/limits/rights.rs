//! What this process may raise.

use serde::Serialize;

use super::system::{CAP_SYS_RESOURCE, System};

/// What this process may raise, and what keeps it from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rights {
    /// Whether its effective user is root, of this user namespace.
    pub root: bool,
    /// Whether that is the system's own root rather than a user namespace's.
    pub first_namespace: bool,
    /// Whether it holds CAP_SYS_RESOURCE, which raising a hard limit takes.
    pub sys_resource: Held,
    /// Whether kernel parameters (/proc/sys) can be written at all, by root.
    pub sysctls_writable: bool,
}

/// Whether a capability is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// By this process.
    Held,
    /// Not by this process; root may have it.
    NotHeld,
    /// By no process that is started here, root's included: it is not in the bounding set.
    Withheld,
    /// The kernel does not say.
    Unknown,
}

impl System {
    pub(super) fn rights(&self) -> Rights {
        let sys_resource = if !self.capabilities_known {
            Held::Unknown
        } else if self.can(CAP_SYS_RESOURCE) {
            Held::Held
        } else if self.is_withheld(CAP_SYS_RESOURCE) {
            Held::Withheld
        } else {
            Held::NotHeld
        };
        Rights {
            root: self.is_root(),
            first_namespace: self.first_namespace,
            sys_resource,
            sysctls_writable: !self.sysctl_is_read_only(),
        }
    }
}
