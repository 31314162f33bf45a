//! `switchcost estimate`: what the switches of a running service cost.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::house::House;
use crate::support::process::Run;
use crate::support::{ANSWER, RUNNER, switchcost, until};

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

/// What is printed, in one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_running_service_is_watched_and_told_what_its_switches_cost() {
    let service = Service::start();
    let pid = service.pid();
    let flags = ["--for", "1s", "--pid", &pid, ANSWER];
    let text = estimate(&flags).finish().expect(0).stdout;
    // Its child is watched with it.
    for part in ["tail: 2 threads of 2 processes, ", "Switching does not matter: "] {
        assert!(words(&text).contains(part), "'{part}' is missing: {text}");
    }
    assert!(text.lines().count() <= 12, "{text}");
    let json = estimate(&flags).flags("--format json").finish().expect(0).stdout;
    let cost: Value = serde_json::from_str(&json).unwrap();
    let seen = &cost["watched"]["service"];
    assert!(seen["groups"][0]["voluntary"].as_u64() > Some(0), "{cost}");
    assert_eq!(cost["switching"]["verdict"], "little");
}

/// In /sys not even root makes a file.
#[test]
fn a_folder_that_takes_no_results_is_named() {
    let run = estimate(&["--switches", "9"]).folder(Path::new("/sys")).finish();
    let run = run.expect(1).expect_complaint(&["this folder", "go to a folder"]);
    assert!(!run.stderr.contains("--out"), "{run}");
}

/// Standard input, above all, cannot be read for the switches and again for the memory.
#[test]
fn a_file_is_read_once() {
    let run = estimate(&["--switches", "20k/s", "--tasks", "50k", "-"]);
    let run = run.input(&fs::read_to_string(ANSWER).unwrap()).finish().expect(0);
    assert!(words(&run.stdout).contains("By -: "), "{run}");
}

#[test]
fn figures_of_this_folder_are_found_and_named() {
    let house = House::new(1, &[]);
    let row = |program| {
        format!(
            "[[section.row]]\nname = '{program}'\nprogram = '{program}'\nflags = ['--tasks', '2']\n\
             link = 'tcp'\niters = 9\nwarmup = 1\n"
        )
    };
    let rows = ["thread-brigade", "async-brigade"].map(row).concat();
    house.set_plan(&format!("rounds = 1\n[[section]]\ntitle = 'All'\nmetric = 'hop'\n{rows}"));
    house.run("").finish().expect(0);
    fs::rename(house.out(), house.path("switchcost-a.jsonl")).unwrap();
    let run = house.switchcost("estimate --switches 9 --link tcp").finish().expect(0);
    assert!(words(&run.stdout).contains("threads will do. They take"), "{run}");
    assert!(words(&run.stdout).contains("By switchcost-a.jsonl: "), "{run}");
    assert!(!run.stderr.contains("measuring"), "{run}");
}

#[test]
fn what_the_system_refuses_is_not_advised() {
    let run = Run::within(r#"ulimit -n 300; exec "$0" "$@""#, RUNNER.as_ref());
    let run = run.flags("estimate --connections 20000").arg(ANSWER).finish().expect(0);
    let text = words(&run.stdout);
    for part in ["20,000 connections: more than this system allows.", "(open files, hard)"] {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
    assert!(!text.contains("will do"), "{text}");
}

/// What was measured is kept, and nobody takes a part of a run for a whole one.
#[test]
fn an_interrupted_estimate_keeps_its_part_and_passes_over_it() {
    let house = House::new(1, &[]);
    let part = || {
        let files = fs::read_dir(house.folder()).unwrap().flatten();
        let names = files.map(|file| file.file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".jsonl")).collect::<Vec<String>>()
    };
    let interrupted = || {
        let running = house.switchcost("estimate --switches 9").start();
        // Programs describe themselves one by one, and are measured together.
        until("it measures", || running.count("switchcost") > 2);
        running.signal(Signal::SIGTERM);
        let run = running.finish_all().expect(143);
        run.expect_complaint(&["measuring", "interrupted while it measured: the part is kept in"])
    };
    let run = interrupted();
    let [file] = &part()[..] else { panic!("{run}") };
    assert!(run.stderr.contains(&format!("kept in {file}, and used if it is named")), "{run}");
    // The next one measures again.
    let run = interrupted();
    assert!(run.stderr.contains(&format!("{file} was interrupted: it is passed over")), "{run}");
    assert_eq!(part().len(), 2, "{run}");
}
