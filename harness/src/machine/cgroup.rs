//! How much CPU time the process's control groups let it have.

use serde::{Deserialize, Serialize};

use super::source::{Source, word_after};

/// CPU time that a cgroup may use. In JSON `"unlimited"` or an object with the two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuQuota {
    /// No cgroup in sight limits it.
    Unlimited,
    /// The tightest limit found.
    #[serde(untagged)]
    Limited {
        /// CPU time in each period, in µs.
        quota_us: u64,
        /// The period in µs.
        period_us: u64,
    },
}

impl CpuQuota {
    /// The limit as a number of CPUs; nothing when there is none.
    pub fn cpus(self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Limited {
                quota_us,
                period_us,
            } => Some(quota_us as f64 / period_us as f64),
        }
    }

    /// The one that leaves less time.
    fn tighter(self, other: Self) -> Self {
        match (self.cpus(), other.cpus()) {
            (Some(one), Some(two)) if two < one => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }

    /// `cpu.max` of version 2: `max 100000` or `50000 100000`.
    fn from_cpu_max(text: &str) -> Option<Self> {
        let (quota, period) = text.split_once(' ')?;
        let period_us = period.trim().parse().ok().filter(|&period| period > 0)?;
        match quota {
            "max" => Some(Self::Unlimited),
            quota => Some(Self::Limited {
                quota_us: quota.parse().ok()?,
                period_us,
            }),
        }
    }

    /// `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1, where -1 is no limit.
    fn from_cfs(quota: &str, period: &str) -> Option<Self> {
        if quota == "-1" {
            return Some(Self::Unlimited);
        }
        Some(Self::Limited {
            quota_us: quota.parse().ok()?,
            period_us: period.parse().ok().filter(|&period| period > 0)?,
        })
    }
}

/// The tightest quota from this process's cgroup up to the top of what is mounted. Unknown when
/// the cgroup cannot be found there, or when a file of it says something unheard of.
pub(super) fn cpu_quota(source: &Source) -> Option<CpuQuota> {
    let memberships = source.text("proc/self/cgroup")?;
    let hierarchy = Hierarchy::of_cpu(&memberships)?;
    let mut tightest = CpuQuota::Unlimited;
    for directory in hierarchy.directories(source)? {
        // No file is no limit: the root has none, nor a cgroup without the controller.
        if let Some(quota) = hierarchy.quota_in(source, &directory) {
            tightest = tightest.tighter(quota?);
        }
    }
    Some(tightest)
}

/// For how long CPU quotas have stopped this process's cgroup so far, in ns: its own quota, or one
/// of a cgroup above it, which is counted there alone. Of several the longest time, since they
/// overlap. Unknown where none of them counts.
pub(super) fn throttled(source: &Source) -> Option<u64> {
    let memberships = source.text("proc/self/cgroup")?;
    let hierarchy = Hierarchy::of_cpu(&memberships)?;
    let times = hierarchy.directories(source)?.into_iter();
    times
        .filter_map(|directory| hierarchy.throttled_in(source, &directory))
        .max()
}

/// The file that says that this process's cgroup has no bandwidth for real-time policies, if it is
/// so: of version 1, since version 2 has none.
pub(super) fn without_realtime(source: &Source) -> Option<String> {
    let memberships = source.text("proc/self/cgroup")?;
    let hierarchy = Hierarchy::of_cpu(&memberships)?;
    let own = hierarchy.directories(source)?.into_iter().next()?;
    let file = format!("{own}/cpu.rt_runtime_us");
    (source.number(&file) == Some(0)).then(|| format!("/{file}"))
}

/// Where the CPU controller keeps this process.
struct Hierarchy<'a> {
    version_1: bool,
    /// Path of the cgroup, as this process's cgroup namespace names it.
    path: &'a str,
}

impl<'a> Hierarchy<'a> {
    /// Looks through `/proc/self/cgroup`. A controller is in one hierarchy at a time, so where
    /// version 1 has it, version 2 does not.
    fn of_cpu(memberships: &'a str) -> Option<Self> {
        let mut version_2 = None;
        for line in memberships.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
                continue;
            };
            if controllers.split(',').any(|name| name == "cpu") {
                return Some(Self {
                    version_1: true,
                    path,
                });
            }
            if controllers.is_empty() {
                version_2 = Some(Self {
                    version_1: false,
                    path,
                });
            }
        }
        version_2
    }

    /// If this line of `mountinfo` is this hierarchy and shows this cgroup: the mount point
    /// without its first slash, and what follows it down to the cgroup.
    fn under_mount<'m>(&self, line: &'m str) -> Option<(&'m str, &'a str)> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let (file_system, options) = (kind.next()?, kind.nth(1)?);
        let ours = if self.version_1 {
            file_system == "cgroup" && options.split(',').any(|option| option == "cpu")
        } else {
            file_system == "cgroup2"
        };
        // `/..` is a cgroup outside this namespace: it cannot be walked to from here.
        if !ours || self.path.contains("/..") {
            return None;
        }
        let below = self.path.strip_prefix(root.trim_end_matches('/'))?;
        let below = below.trim_end_matches('/');
        let whole_names = below.is_empty() || below.starts_with('/');
        whole_names.then_some((point.trim_start_matches('/'), below))
    }

    /// Where the cgroup and those above it are, as far as they are mounted: the cgroup first.
    fn directories(&self, source: &Source) -> Option<Vec<String>> {
        let mounts = source.text("proc/self/mountinfo")?;
        let (top, below) = mounts.lines().find_map(|line| self.under_mount(line))?;
        let mut directory = format!("{top}{below}");
        if !source.exists(&directory) {
            return None;
        }
        let mut directories = vec![directory.clone()];
        while let Some(slash) = directory.rfind('/').filter(|&slash| slash >= top.len()) {
            directory.truncate(slash);
            directories.push(directory.clone());
        }
        Some(directories)
    }

    /// `throttled_usec` of version 2, `throttled_time` (ns) of version 1.
    fn throttled_in(&self, source: &Source, directory: &str) -> Option<u64> {
        let text = source.text(&format!("{directory}/cpu.stat"))?;
        match self.version_1 {
            true => word_after(&text, "throttled_time "),
            false => word_after::<u64>(&text, "throttled_usec ")?.checked_mul(1000),
        }
    }

    /// Nothing without the file; `Some(None)` if it does not make sense.
    fn quota_in(&self, source: &Source, directory: &str) -> Option<Option<CpuQuota>> {
        if self.version_1 {
            let quota = source.text(&format!("{directory}/cpu.cfs_quota_us"))?;
            let period = source.text(&format!("{directory}/cpu.cfs_period_us"))?;
            Some(CpuQuota::from_cfs(&quota, &period))
        } else {
            let text = source.text(&format!("{directory}/cpu.max"))?;
            Some(CpuQuota::from_cpu_max(&text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::Root;
    use super::super::source::Source;
    use super::{CpuQuota, cpu_quota, throttled, without_realtime};

    /// The quota that `cgroup` and `mountinfo` lead to among `files`.
    fn quota(cgroup: &str, mountinfo: &str, files: &[(&str, &str)]) -> Option<CpuQuota> {
        let root = Root::new(&[
            ("proc/self/cgroup", cgroup),
            ("proc/self/mountinfo", mountinfo),
        ]);
        for (path, text) in files {
            root.write(&format!("sys/fs/cgroup/{path}"), text.as_bytes());
        }
        cpu_quota(&Source::new(&root.0))
    }

    #[test]
    fn a_cgroup_without_real_time_is_named() {
        let none = |runtime: &[u8]| {
            let root = Root::new(&[
                ("proc/self/cgroup", "4:cpu,cpuacct:/docker/a/b"),
                ("proc/self/mountinfo", V1),
            ]);
            root.write("sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us", b"0");
            root.write("sys/fs/cgroup/cpu,cpuacct/b/cpu.rt_runtime_us", runtime);
            without_realtime(&Source::new(&root.0))
        };
        let file = "/sys/fs/cgroup/cpu,cpuacct/b/cpu.rt_runtime_us";
        assert_eq!(none(b"0\n").as_deref(), Some(file));
        assert_eq!(none(b"950000\n"), None, "its own group counts");
    }

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate";
    const V1: &str = "\
22 27 0:21 / /proc rw - proc proc rw
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 31 0:29 /docker/a /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";

    fn limited(quota_us: u64, period_us: u64) -> Option<CpuQuota> {
        Some(CpuQuota::Limited {
            quota_us,
            period_us,
        })
    }

    #[test]
    fn the_tightest_ancestor_decides() {
        let files = [
            ("a/cpu.max", "200000 400000"),
            ("a/b/cpu.max", "max 100000"),
            ("a/b/c/cpu.max", "90000 100000"),
        ];
        assert_eq!(quota("0::/a/b/c", V2, &files), limited(200_000, 400_000));
        assert_eq!(
            quota("0::/a/b/c", V2, &files[1..]),
            limited(90_000, 100_000)
        );
        assert_eq!(
            quota("0::/a/b", V2, &files[1..2]),
            Some(CpuQuota::Unlimited)
        );
        assert_eq!(quota("0::/", V2, &files), Some(CpuQuota::Unlimited));
    }

    #[test]
    fn version_1_is_found_below_the_mounted_part() {
        let own = "4:memory:/m\n1:cpu,cpuacct:/docker/a/b\n0::/\n";
        let files = [
            ("cpu,cpuacct/b/cpu.cfs_quota_us", "-1\n"),
            ("cpu,cpuacct/b/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(quota(own, V1, &files), limited(50_000, 100_000));
        assert_eq!(quota(own, V1, &files[..2]), Some(CpuQuota::Unlimited));
        assert_eq!(
            quota("1:cpu:/docker/ab", V1, &files),
            None,
            "not below /docker/a"
        );
        assert_eq!(quota("1:cpu:/", V1, &files), None);
    }

    #[test]
    fn the_longest_time_that_any_of_them_was_stopped_counts() {
        let time = |cgroup: &str, mountinfo: &str, files: &[(&str, &str)]| {
            let root = Root::new(&[
                ("proc/self/cgroup", cgroup),
                ("proc/self/mountinfo", mountinfo),
            ]);
            for (path, text) in files {
                root.write(&format!("sys/fs/cgroup/{path}"), text.as_bytes());
            }
            throttled(&Source::new(&root.0))
        };
        let v2 = [
            ("cpu.stat", "usage_usec 5\n"),
            (
                "a/cpu.stat",
                "usage_usec 5\nnr_throttled 2\nthrottled_usec 70\n",
            ),
            ("a/b/cpu.stat", "usage_usec 5\nthrottled_usec 0\n"),
        ];
        assert_eq!(time("0::/a/b", V2, &v2), Some(70_000));
        assert_eq!(time("0::/", V2, &v2), None);
        let v1 = [
            (
                "cpu,cpuacct/b/cpu.stat",
                "nr_throttled 1\nthrottled_time 12\n",
            ),
            ("cpu,cpuacct/cpu.stat", "nr_throttled 0\nthrottled_time 0\n"),
        ];
        assert_eq!(time("1:cpu,cpuacct:/docker/a/b", V1, &v1), Some(12));
    }

    #[test]
    fn a_quota_that_cannot_be_read_is_unknown() {
        assert_eq!(quota("0::/gone", V2, &[("cpu.stat", "")]), None);
        assert_eq!(quota("0::/../other", V2, &[("cpu.stat", "")]), None);
        assert_eq!(quota("0::/a", V2, &[("a/cpu.max", "lots 100000")]), None);
        assert_eq!(quota("0::/a", V2, &[("a/cpu.max", "5000 0")]), None);
        assert_eq!(quota("nonsense", V2, &[]), None);
    }
}
