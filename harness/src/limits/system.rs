//! What the limits are read from: `/proc` and `/sys`, and who is asking.

use std::fs;
use std::path::{Path, PathBuf};

use super::Resource;
use super::finding::{Finding, Found};
use super::limit::{Limit, Raise};
use super::mounts::{self, Mount};

/// Numbers of capabilities, as in capabilities(7).
pub(super) const CAP_SYS_ADMIN: u32 = 21;
const CAP_SYS_NICE: u32 = 23;
pub(super) const CAP_SYS_RESOURCE: u32 = 24;

const NO_SYS_RESOURCE: &str = "refused here: CAP_SYS_RESOURCE is withheld from this system; \
    raise it where this container, service or machine is started";
const SYSCTL_READ_ONLY: &str = "refused here: /proc/sys is mounted read-only; \
    run it on the host of this container";

/// A view of `/proc` and `/sys`, and the facts about this process that decide
/// which limits bind it.
pub(super) struct System {
    root: PathBuf,
    mounts: Vec<Mount>,
    pub(super) real_uid: Option<u64>,
    is_root: bool,
    /// Capabilities that count outside of user namespaces: all of those here
    /// are checked against the first one.
    effective: u64,
    /// Those that no process started from here can go beyond.
    bounding: u64,
    /// Whether the two sets above could be read.
    pub(super) capabilities_known: bool,
    /// Whether user 0 here is the system's root.
    pub(super) first_namespace: bool,
}

impl System {
    pub(super) fn open(root: &Path) -> System {
        let mut system = System {
            root: root.to_owned(),
            mounts: Vec::new(),
            real_uid: None,
            is_root: false,
            effective: 0,
            bounding: u64::MAX,
            capabilities_known: false,
            first_namespace: true,
        };
        let mountinfo = system.read("/proc/self/mountinfo").unwrap_or_default();
        system.mounts = mounts::parse(&mountinfo);
        // Without the file the kernel has no user namespaces.
        if let Some(map) = system.read("/proc/self/uid_map") {
            let fields: Vec<&str> = map.split_whitespace().collect();
            system.first_namespace = fields == ["0", "0", "4294967295"];
        }
        let status = system.read("/proc/self/status").unwrap_or_default();
        // Real, effective, saved, file system.
        let uids: Vec<u64> = field(&status, "Uid:")
            .unwrap_or_default()
            .split_whitespace()
            .map_while(|uid| uid.parse().ok())
            .collect();
        system.real_uid = uids.first().copied();
        system.is_root = uids.get(1) == Some(&0);
        let capabilities =
            |name| field(&status, name).and_then(|hex| u64::from_str_radix(hex, 16).ok());
        system.capabilities_known = capabilities("CapEff:").is_some();
        if system.first_namespace {
            system.effective = capabilities("CapEff:").unwrap_or(0);
            system.bounding = capabilities("CapBnd:").unwrap_or(u64::MAX);
        } else {
            system.bounding = 0;
        }
        system
    }

    pub(super) fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// The text of a file given by its path on the system itself.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        self.text(path).ok()
    }

    /// The same, or why it cannot be read.
    pub(super) fn text(&self, path: &str) -> Result<String, String> {
        match fs::read(self.below_root(path)) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(e) => Err(format!("cannot read {path}: {e}")),
        }
    }

    /// The number that is all a file holds.
    pub(super) fn number(&self, path: &str) -> Found {
        let text = self.text(path)?;
        let number = text.trim().parse();
        number.map_err(|_| format!("{path} holds no number"))
    }

    pub(super) fn below_root(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(super) fn is_root(&self) -> bool {
        self.is_root
    }

    /// Whether no process started from here can get a capability.
    pub(super) fn is_withheld(&self, capability: u32) -> bool {
        self.bounding >> capability & 1 == 0
    }

    pub(super) fn can(&self, capability: u32) -> bool {
        self.effective >> capability & 1 == 1
    }

    fn may_schedule(&self) -> Option<bool> {
        self.capabilities_known.then(|| self.can(CAP_SYS_NICE))
    }

    /// A limit of this system, with what is in use of it.
    pub(super) fn limit(
        &self,
        name: &str,
        source: &str,
        resource: Resource,
        (value, in_use): (u64, u64),
        raise: Raise,
    ) -> Limit {
        let note = match raise {
            Raise::Rlimit(_) if self.is_withheld(CAP_SYS_RESOURCE) => Some(NO_SYS_RESOURCE),
            Raise::Sysctl { .. } | Raise::Switch(_) if self.sysctl_is_read_only() => {
                Some(SYSCTL_READ_ONLY)
            }
            _ => None,
        };
        Limit {
            name: name.to_owned(),
            source: source.to_owned(),
            resource,
            value,
            in_use,
            raise,
            note,
            as_root: self.is_root,
            hidden: false,
        }
    }

    /// A limit that binds, or why nothing is known of it.
    pub(super) fn finding(
        &self,
        name: &str,
        source: &str,
        resource: Resource,
        (value, in_use): (Found, Found),
        raise: Raise,
    ) -> Finding {
        match value.and_then(|value| Ok((value, in_use?))) {
            Ok(amounts) => Finding::binds(self.limit(name, source, resource, amounts, raise)),
            Err(why) => Finding::unknown(name, source, resource, why),
        }
    }

    /// Containers mount /proc/sys over itself, read-only.
    pub(super) fn sysctl_is_read_only(&self) -> bool {
        let last = |point| self.mounts.iter().rfind(|mount| mount.point == point);
        last("/proc/sys")
            .or_else(|| last("/proc"))
            .is_some_and(|mount| mount.read_only)
    }

    /// A kernel parameter that is a limit.
    pub(super) fn sysctl(
        &self,
        key: &'static str,
        most: u64,
        resource: Resource,
        in_use: Found,
    ) -> Finding {
        let source = sysctl_file(key);
        let raise = Raise::Sysctl { key, most, each: 1 };
        let value = self.number(&source);
        self.finding(key, &source, resource, (value, in_use), raise)
    }
}

/// Whether this process holds CAP_SYS_NICE, and not only of a user namespace of its own. `None`
/// where the kernel does not say.
pub(crate) fn may_schedule() -> Option<bool> {
    System::open(Path::new("/")).may_schedule()
}

/// Where a kernel parameter is read and written.
pub(super) fn sysctl_file(key: &str) -> String {
    format!("/proc/sys/{}", key.replace('.', "/"))
}

/// The soft and the hard value of one line of `/proc/self/limits`; unlimited
/// is [`u64::MAX`], as it is for the kernel.
pub(super) fn rlimit(text: &str, name: &str) -> Option<(u64, u64)> {
    let mut values = field(text, name)?.split_whitespace().map(|value| {
        if value == "unlimited" {
            Some(u64::MAX)
        } else {
            value.parse().ok()
        }
    });
    Some((values.next()??, values.next()??))
}

/// The rest of the line that starts with `name`, trimmed.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(rest.trim())
}

pub(super) fn first_number(field: &str) -> Option<u64> {
    field.split_whitespace().next()?.parse().ok()
}
