//! A folder with the runner and programs beside it, which need not be what they are called. Away from
//! cargo's folders the runner builds nothing.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::process::Run;
use super::{RUNNER, build};

/// A program that follows the contract and measures nothing: each sample is `$ns`, and it waits as long, unless it
/// `$lies`. `$BEFORE` stands for what it does before it answers a request; it may set the sample and a further field.
const FAKE: &str = r#"#!/bin/sh
description='"contract":1,"program":"one-thread-brigade","version":"0","tasks":1,"hops":2,"claim":"no-switch","passes":[{"name":"main","settle":0}],"needs":{"bytes":{"fixed":1}}'
case "$*" in
*--help*) echo '  --tasks <N>'; exit ;;
*--describe*) echo "{$description}"; exit ;;
esac
ns=1000
trap 'stop=yes' INT TERM
echo "{\"at\":\"ready\",\"pids\":[$$],\"setup_ns\":1,$description}"
while [ -z "$stop" ] && read -r what n rest; do
    $BEFORE
    case $what in
    run) length=$((n * (${#ns} + 1) - 1)) all=$ns
        while [ ${#all} -lt $length ]; do all=$all,$all; done
        ms=$((n * ns / 1000000))
        [ -n "$lies" ] || [ $ms = 0 ] || sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
        printf '{"at":"ran","samples_ns":[%.*s]%s}\n' $length "$all" "$field" ;;
    hold) echo "{\"at\":\"held\",\"pids\":[$$]}" ;;
    *) break ;;
    esac
done
echo '{"at":"ended","teardown_ns":1}'
"#;

/// A program and its row of a plan.
const ROW: &str = r#"
    [[section.row]]
    name = "row $NAME"
    program = "$NAME"
    flags = ["--tasks", "1"]
    iters = 4
    warmup = 1
"#;

/// A plan of these programs, one row each.
pub(crate) fn plan_of(rounds: u32, programs: &[&str]) -> String {
    let rows: String = programs.iter().map(|program| ROW.replace("$NAME", program)).collect();
    format!("rounds = {rounds}\n[[section]]\ntitle = 'All'\nmetric = 'hop'\n{rows}")
}

/// The folder.
pub(crate) struct House {
    folder: TempDir,
}

impl House {
    /// With a plan of these programs, one row each, each of them a fake.
    pub(crate) fn new(rounds: u32, programs: &[&str]) -> Self {
        // On the file system of the runner, for a hard link; where another user may come in.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let house = House { folder };
        fs::hard_link(RUNNER, house.path("switchcost")).unwrap();
        programs.iter().for_each(|program| house.fake(program, ":"));
        house.set_plan(&plan_of(rounds, programs));
        house
    }

    /// With a program of this workspace beside the runner.
    pub(crate) fn with(self, program: &str) -> Self {
        fs::hard_link(build().join(program), self.path(program)).unwrap();
        self
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its plan.
    pub(crate) fn plan(&self) -> String {
        fs::read_to_string(self.path("plan.toml")).unwrap()
    }

    /// Has another plan.
    pub(crate) fn set_plan(&self, plan: &str) {
        fs::write(self.path("plan.toml"), plan).unwrap();
    }

    /// Has a program do this in shell before it answers a request.
    pub(crate) fn fake(&self, program: &str, before: &str) {
        executable(&self.path(program), &House::fake_text(program, before));
    }

    /// The script of such a program.
    pub(crate) fn fake_text(program: &str, before: &str) -> String {
        FAKE.replace("one-thread-brigade", program).replace("$BEFORE", before)
    }

    /// A run of the runner.
    pub(crate) fn switchcost(&self, flags: &str) -> Run {
        Run::of(self.path("switchcost")).folder(self.folder.path()).flags(flags)
    }

    /// A run of the plan into `out.jsonl`.
    pub(crate) fn run(&self, flags: &str) -> Run {
        self.of_plan(self.switchcost("run"), flags)
    }

    /// A run of the plan that a shell prepares.
    pub(crate) fn run_after(&self, shell: &str, flags: &str) -> Run {
        self.run_within(&format!("{shell}\nexec \"$0\" \"$@\""), flags)
    }

    /// A run of the plan that a shell starts, as `exec "$0" "$@"`.
    pub(crate) fn run_within(&self, script: &str, flags: &str) -> Run {
        let run = Run::within(script, &self.path("switchcost")).flags("run");
        self.of_plan(run.folder(self.folder.path()), flags)
    }

    /// The rest of a command line that runs the plan.
    fn of_plan(&self, run: Run, flags: &str) -> Run {
        let run = run.flags("--plan").arg(self.path("plan.toml"));
        if flags.contains("--out") {
            run.flags(flags)
        } else {
            run.arg("--out").arg(self.out()).flags(flags)
        }
    }

    /// File of the results.
    pub(crate) fn out(&self) -> PathBuf {
        self.path("out.jsonl")
    }

    /// Text of the results.
    pub(crate) fn text(&self) -> String {
        fs::read_to_string(self.out()).unwrap_or_default()
    }

    /// Lines of the results that are of a process, each of which is whole.
    pub(crate) fn processes(&self) -> Vec<Value> {
        let text = self.text();
        assert!(text.is_empty() || text.ends_with('\n'), "a line is cut: {text}");
        processes(&text)
    }

    /// What went wrong with the runs of a program, in order.
    pub(crate) fn errors(&self, program: &str) -> Vec<String> {
        let processes = self.processes().into_iter().filter(|p| p["program"] == program);
        processes.filter_map(|p| p["error"].as_str().map(str::to_owned)).collect()
    }
}

/// Trials of a results file, each with its place and its command.
pub(crate) fn processes(text: &str) -> Vec<Value> {
    let mut trials = Vec::new();
    let mut headers: HashMap<u64, Value> = HashMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["kind"].as_str().unwrap() {
            "run" => drop(headers.insert(line["id"].as_u64().unwrap(), line)),
            "trial" => {
                let header = &headers[&line["run"].as_u64().unwrap()];
                let row = &header["rows"][line["row"].as_u64().unwrap() as usize];
                let objects = [row, &row["command"], &line].map(|part| part.as_object().unwrap());
                let fields = objects.into_iter().flatten();
                let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
                trials.push(Value::Object(fields.collect()));
            }
            _ => {}
        }
    }
    trials
}

/// Makes a script that can be run, in the place of whatever had the name.
pub(crate) fn executable(path: &Path, text: &str) {
    let mut script = tempfile::NamedTempFile::new().unwrap();
    script.write_all(text.as_bytes()).unwrap();
    install(script.path(), path);
}

/// Copies an executable by another process: a child that a test forks meanwhile would have the copy open for
/// writing, and execve(2) would say ETXTBSY.
pub(crate) fn install(from: &Path, to: &Path) {
    let copied = Command::new("install").args(["-m", "755"]).args([from, to]).status();
    assert!(copied.unwrap().success(), "{}", to.display());
}
