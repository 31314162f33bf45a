//! `switchcost estimate`: a load, and a running service.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::house::House;
use crate::support::process::Run;
use crate::support::{switchcost, until};

fn estimate(args: &[&str]) -> Run {
    args.iter().fold(switchcost("estimate"), |run, arg| run.arg(arg))
}

/// A service that sleeps and wakes, beside a child of its own, until it is dropped.
struct Service(Child);

impl Service {
    fn start() -> Self {
        let script = "sleep 1000 & exec tail ---disable-inotify -n 0 -s 0.02 -f /bin/sh";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).process_group(0);
        Service(command.spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL).unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_running_service_is_watched_and_nothing_is_measured_beside_it() {
    let (service, folder) = (Service::start(), tempfile::tempdir().unwrap());
    let pid = service.pid();
    let watch = || estimate(&["--for", "1s", "--pid", &pid]).folder(folder.path());
    let run = watch().finish().expect(0);
    // Its child is watched with it.
    for part in
        ["tail: 2 threads of 2 processes", "On average, ", "it may use", "was not measured beside"]
    {
        assert!(run.words().contains(part), "'{part}' is missing: {run}");
    }
    assert!(run.stdout.lines().count() <= 12 && run.stderr.is_empty(), "{run}");
    let json = watch().flags("--format json").finish().expect(0).stdout;
    let found: Value = serde_json::from_str(&json).unwrap();
    let (seen, counted) = (&found["service"]["groups"][0], &found["service"]["counted"]);
    let switches = seen["voluntary"].as_u64().unwrap() + seen["involuntary"].as_u64().unwrap();
    assert!(switches > 0 && counted.as_u64().is_none_or(|all| all > 0), "{found}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// In /sys not even root makes a file.
#[test]
fn a_folder_that_takes_no_results_is_named() {
    let run = estimate(&["--switches", "10"]).folder(Path::new("/sys")).finish();
    let run = run.expect(1).expect_complaint(&["this folder", "go to a folder"]);
    assert!(!run.stderr.contains("--out"), "{run}");
}

#[test]
fn a_load_that_the_system_refuses_is_told_with_its_limit() {
    let house = House::new(1, &[]).with("arrivals");
    let run = Run::within(r#"ulimit -n 300; exec "$0" "$@""#, &house.path("switchcost"));
    let run = run.flags("estimate --connections 20000").folder(house.folder()).finish().expect(1);
    for part in ["open files, hard", "at most", "switchcost limits arrivals"] {
        assert!(run.words().contains(part), "'{part}' is missing: {run}");
    }
}

#[test]
fn a_load_is_measured_by_two_servers() {
    let house = House::new(1, &[]).with("arrivals");
    let run = house.switchcost("estimate --switches 100 --connections 3 --format json");
    let run = run.finish().expect(0);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 7, "{found}");
    assert!(found["event_loop"]["request"]["value"].is_number(), "{found}");
    for (row, side) in rows.iter().flat_map(|row| [(row, "thread"), (row, "task")]) {
        assert!(row[side]["value"].is_number(), "{side}: {row}");
    }
    let verdicts = ["threads", "depends", "tasks", "unknown"];
    assert!(verdicts.iter().any(|word| found["verdict"] == *word), "{found}");
    assert_eq!(records(&house).len(), 1, "{run}");
}

/// What was measured is kept.
#[test]
fn an_interrupted_estimate_keeps_its_part() {
    let house = House::new(1, &[]).with("arrivals");
    let running = house.switchcost("estimate --switches 100").start();
    until("a server was measured", || {
        let texts = records(&house).into_iter().map(|name| fs::read_to_string(house.path(&name)));
        texts.flatten().any(|text| text.contains(r#""kind":"trial""#))
    });
    running.signal(Signal::SIGTERM);
    let run = running.finish().expect(143);
    let run = run.expect_complaint(&["measuring", "interrupted: what was measured is in"]);
    assert!(matches!(&records(&house)[..], [file] if run.stderr.contains(file)), "{run}");
}

/// Names of the records in a folder.
fn records(house: &House) -> Vec<String> {
    let names = fs::read_dir(house.folder()).unwrap().map(|f| f.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".jsonl")).collect()
}
