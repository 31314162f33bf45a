//! A control group of the server's own, with a quota of CPU time.
//!
//! In each period of 100 ms its threads may use so much CPU time together; then the kernel throttles them until the period
//! ends (Documentation/scheduler/sched-bwc.rst).

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use anyhow::{Context, anyhow};
use host::cgroup::ControlGroups;
use host::source::Source;
use runtime::{Flavor, RuntimeFlags};

/// The kernel's usual period, in µs.
const PERIOD: u64 = 100_000;

/// What is said where there can be no such group.
const REFUSED: &str = "--quota: cannot make a control group with a CPU quota";

/// CPUs' worth of CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quota(f64);

impl Quota {
    /// Reads a number of CPUs.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(cpus) if (0.01..=1024.0).contains(&cpus) => Ok(Quota(cpus)),
            _ => Err(format!("'{text}' is not a number of CPUs from 0.01 to 1024, such as 0.5")),
        }
    }

    /// A runtime with as many workers as it has within the quota: by itself, Tokio starts one per whole CPU.
    pub(crate) fn applied_to(self, flags: RuntimeFlags) -> anyhow::Result<RuntimeFlags> {
        let is_told = flags.workers.is_some() || env::var_os(runtime::WORKERS).is_some();
        if is_told || flags.flavor == Flavor::CurrentThread {
            return Ok(flags);
        }
        let cpus = available_parallelism().context("cannot count the CPUs")?.get() as u32;
        Ok(RuntimeFlags { workers: Some(cpus.min(self.0 as u32).max(1)), ..flags })
    }
}

/// A group for as long as this lives.
#[derive(Debug)]
pub(crate) struct QuotaGroup {
    folder: PathBuf,
}

/// Periods of a group in which it could run, and those in which it was throttled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periods {
    counted: u64,
    throttled: u64,
}

impl QuotaGroup {
    /// Makes a group with this quota below the one of this process, or beside it where the former may have no quotas.
    pub(crate) fn new(Quota(cpus): Quota) -> anyhow::Result<Self> {
        let source = Source::system();
        let groups = ControlGroups::read(&source).groups(&source, "cpu");
        let groups = groups.map_err(|reason| anyhow!("{REFUSED}: {reason}"))?;
        let quota = (cpus * PERIOD as f64) as u64;
        let (file, text) = match groups.version {
            1 => ("cpu.cfs_quota_us", quota.to_string()),
            _ => ("cpu.max", format!("{quota} {PERIOD}")),
        };
        let own = &groups.folders[0];
        let made = QuotaGroup::below(own, file, &text).or_else(|e| match groups.folders.get(1) {
            Some(parent) => QuotaGroup::below(parent, file, &text),
            None => Err(e),
        });
        made.with_context(|| {
            format!("{REFUSED} below {own}: run it as root, where they can be written to")
        })
    }

    fn below(parent: &str, file: &str, text: &str) -> io::Result<Self> {
        let folder = Path::new(parent).join(format!("switchcost-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = QuotaGroup { folder };
        fs::write(group.folder.join(file), text)?;
        Ok(group)
    }

    /// Puts the calling process in.
    pub(crate) fn join(&self) -> anyhow::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), "0")
            .with_context(|| format!("--quota: cannot enter {}", self.folder.display()))
    }

    pub(crate) fn periods(&self) -> anyhow::Result<Periods> {
        let path = self.folder.join("cpu.stat");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let count = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        let counts = count("nr_periods").zip(count("nr_throttled"));
        let (counted, throttled) = counts.context("cpu.stat counts no periods")?;
        Ok(Periods { counted, throttled })
    }
}

impl Periods {
    /// Share of the periods since then in which the group was throttled, in percent, if there were any.
    pub(crate) fn throttled_since(self, before: Periods) -> Option<u64> {
        ((self.throttled - before.throttled) * 100).checked_div(self.counted - before.counted)
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        // Empty by now. What remains otherwise holds nothing but its name.
        let _ = fs::remove_dir(&self.folder);
    }
}
