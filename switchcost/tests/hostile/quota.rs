//! Half a CPU, by a quota of a control group of either version; and none for real-time policies.

use std::fs;
use std::path::{Path, PathBuf};

use harness::machine::CpuQuota;
use harness::notes::Note;

use super::Installed;
use crate::support::benchmarks::{all, with};
use crate::support::{skip, until};

/// A control group of this test's own that may use half a CPU, gone when it is dropped.
struct Half(PathBuf);

impl Half {
    /// # Errors
    /// Why it cannot be made here.
    fn new(name: &str) -> Result<Self, String> {
        Half::made(name).map(|(half, _)| half)
    }

    /// The same with the version of its controller.
    fn made(name: &str) -> Result<(Self, u32), String> {
        let (parent, version) = own().ok_or("no cpu controller is in sight")?;
        let path = parent.join(format!("switchcost-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("no control group can be made: {e}"))?;
        let half = Half(path);
        let settings = match version {
            1 => [
                ("cpu.cfs_period_us", "20000"),
                ("cpu.cfs_quota_us", "10000"),
            ]
            .to_vec(),
            _ => [("cpu.max", "10000 20000")].to_vec(),
        };
        for (file, value) in settings {
            fs::write(half.0.join(file), value)
                .map_err(|e| format!("{file} cannot be set: {e}"))?;
        }
        Ok((half, version))
    }

    /// A shell's script whose program runs in it.
    fn script(&self) -> String {
        let procs = self.0.join("cgroup.procs");
        format!(
            r#"echo $$ > '{}' || exit 77; exec "$0" "$@""#,
            procs.display()
        )
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        // A process that has just ended may still be in it for a moment.
        until("the control group is empty", || {
            !self.0.exists() || fs::remove_dir(&self.0).is_ok()
        });
    }
}

/// This process's group where the cpu controller can be given to a child, and the version.
fn own() -> Option<(PathBuf, u32)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        if controllers.split(',').any(|name| name == "cpu") {
            let folder = Path::new("/sys/fs/cgroup").join(controllers).join(path);
            return folder.is_dir().then_some((folder, 1));
        }
        let folder = Path::new("/sys/fs/cgroup").join(path);
        let offered = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
        let has_cpu = offered.split_whitespace().any(|name| name == "cpu");
        (controllers.is_empty() && has_cpu).then_some((folder, 2))
    })
}

/// Long enough to be stopped: the quota lasts 10 ms.
const LONG: &str = "--tasks 50 --warmups 0 --iters 4000 --format json";

#[test]
fn a_record_says_for_how_long_it_was_stopped() {
    let half = match Half::new("record") {
        Ok(half) => half,
        Err(why) => return skip(&why),
    };
    for benchmark in with("--tokens") {
        let run = benchmark.within(&half.script(), LONG).finish();
        if run.code == 77 {
            return skip("no process can be moved to a control group");
        }
        let record = run.expect_quiet_success().record();
        let quota = CpuQuota::Limited {
            quota_us: 10_000,
            period_us: 20_000,
        };
        assert_eq!(record.machine.cpu_quota, Some(quota), "{}", benchmark.name);
        let throttled = record.interference.unwrap().throttled.unwrap();
        let noted = record.notes.iter().find_map(|note| match note {
            Note::Throttled { time } => Some(*time),
            _ => None,
        });
        assert!(throttled > 0, "{}", benchmark.name);
        assert_eq!(noted, Some(throttled), "{}", benchmark.name);
    }
}

#[test]
fn the_report_warns_of_it() {
    let half = match Half::new("report") {
        Ok(half) => half,
        Err(why) => return skip(&why),
    };
    let installed = Installed::new();
    let plan = super::PLAN.replace("iters = 4", "iters = 20000");
    fs::write(installed.path("plan.toml"), plan).unwrap();
    let run = installed.plan(&half.script()).finish();
    if run.code == 77 {
        return skip("no process can be moved to a control group");
    }
    let run = run.expect(0);
    assert!(run.stdout.contains("cgroup limit 0.50 CPUs"), "{run}");
    assert!(
        run.stdout.contains("a CPU quota stopped the process"),
        "{run}"
    );
}

/// A new group of version 1 gives real-time policies no time at all, to root either, where the
/// kernel divides it among groups (CONFIG_RT_GROUP_SCHED).
#[test]
fn a_group_without_real_time_is_named() {
    let half = match Half::made("realtime") {
        Ok((half, 1)) if half.0.join("cpu.rt_runtime_us").exists() => half,
        Ok(_) => return skip("this kernel does not divide real time among groups"),
        Err(why) => return skip(&why),
    };
    for benchmark in all() {
        let fifo = "--tasks 3 --iters 4 --policy fifo";
        let run = benchmark.within(&half.script(), fifo).finish();
        if run.code == 77 {
            return skip("no process can be moved to a control group");
        }
        if run.stderr.contains("has no right") {
            return skip("without a right to fifo, groups do not matter");
        }
        let file = half.0.join("cpu.rt_runtime_us");
        let words = [
            "--policy fifo",
            file.to_str().unwrap(),
            "real-time bandwidth",
        ];
        run.expect_refusal(1, &words);
    }
}
