//! An answer as it is published: records without what is private, and whether they are fit for it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use facts::{Ending, Kind, Process, Run};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::Answer;
use crate::figures::Figures;
use crate::measure::store::{self, Contents};

#[cfg(test)]
mod tests;

/// Fields that are published, by the object that holds them; `*` is every name of a map. All others are private, so
/// that a new field is private until it is listed.
type Fields = &'static [(&'static str, &'static str)];

/// Those of a run's header.
const RUN: Fields = &[
    ("", "schema kind id started command seed machine build plan"),
    (
        "machine",
        "kernel_release kernel_version preemption preemption_mode preemption_boot architecture distribution \
         cpu_model cpus_online affinity topology smt_active numa_nodes caches base_frequency_khz max_frequency_khz \
         frequency_driver governor boost idle_driver virtualisation mitigations clock_source clock_step_ns \
         clock_read_ns thp_enabled thp_defrag sched_autogroup timer_slack_ns seccomp cpu_quota memory_limit rlimits \
         memory_total_bytes swap_total_bytes load_average pressure perf_event_paranoid io_uring_disabled",
    ),
    ("machine.topology", "sockets cores threads_per_core"),
    ("machine.caches", "level type size_bytes shared_cpu_list"),
    ("machine.mitigations", "*"),
    ("machine.cpu_quota", "quota_us period_us"),
    ("machine.rlimits", "nofile nproc stack address_space"),
    ("machine.rlimits.nofile", "soft hard"),
    ("machine.rlimits.nproc", "soft hard"),
    ("machine.rlimits.stack", "soft hard"),
    ("machine.rlimits.address_space", "soft hard"),
    ("machine.pressure", "cpu memory io"),
    ("build", "rustc profile target package_version git_revision dirty tokio"),
    ("plan", "question sections cases"),
    ("plan.sections", "title metric also swept"),
    ("plan.sections.also", "name metric"),
    ("plan.cases", "section row column baseline versus answer yardstick everyday known over link"),
];

const DISTRIBUTION: &str = "count mean stddev min p50 p90 p99 max";
const MEMORY: &str = "resident pss anonymous huge page_tables pipe_pages peak_resident system_kernel_stacks \
                      system_page_tables system_slab";

/// Those of a process.
const PROCESS: Fields = &[
    (
        "",
        "schema kind run case round order twin x started program version args cpus tasks tokens chains trips hops \
         arrivals bytes claim runtime samples usage slices account migrations interference memory cache_line setup_ns \
         first_ns teardown_ns extra partial",
    ),
    ("runtime", "name version flavor workers"),
    ("samples", DISTRIBUTION),
    ("samples", "thirds"),
    ("samples.thirds", "first last error"),
    (
        "usage",
        "user_ns system_ns voluntary_switches involuntary_switches minor_faults major_faults",
    ),
    ("account", "at all idle busy stolen own"),
    (
        "interference",
        "steal idle throttled rescheduling function_calls cpu_pressure memory_pressure io_pressure",
    ),
    ("memory", "before held"),
    ("memory.before", MEMORY),
    ("memory.held", MEMORY),
    ("cache_line", "cpus before after"),
    ("extra", "*"),
    ("extra.*", DISTRIBUTION),
];

/// No text that is published is longer, in bytes.
const LONGEST: usize = 200;

/// Lines that are no records, as many as are named.
const MOST_FAULTS: usize = 3;

/// A file of records as it is published.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Its lines.
    pub(crate) text: String,
    pub(crate) processes: usize,
    /// Texts that are kept, by their fields.
    pub(crate) texts: BTreeMap<String, BTreeSet<String>>,
    /// Fields whose numbers are kept.
    pub(crate) numbers: BTreeSet<String>,
    /// Fields that are left out.
    pub(crate) left_out: BTreeSet<String>,
    /// Texts of kept fields that hold what is private.
    pub(crate) private: BTreeMap<String, String>,
}

impl Shared {
    /// Records without what is private; cases that were not tried are left out, since their reasons are free text.
    ///
    /// # Errors
    /// If a line is no record.
    pub(crate) fn of(file: &[u8]) -> anyhow::Result<Shared> {
        let mut shared = Shared::default();
        for line in file.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let mut value: Value = serde_json::from_slice(line)?;
            let line = if value["kind"] == serde_json::to_value(Kind::Run)? {
                shared.keep(RUN, "", &mut value);
                serde_json::to_string(&Run::deserialize(value)?)?
            } else {
                let process = Process::deserialize(&value)?.modernised();
                if matches!(process.outcome(), Ending::NotRun(_)) {
                    shared.left_out.insert("not_run".to_owned());
                    continue;
                }
                shared.processes += 1;
                shared.keep(PROCESS, "", &mut value);
                serde_json::to_string(&Process::deserialize(value)?)?
            };
            shared.text += &line;
            shared.text.push('\n');
        }
        Ok(shared)
    }

    /// Takes out of a value what is not listed, and notes what is kept.
    fn keep(&mut self, fields: Fields, place: &str, value: &mut Value) {
        match value {
            Value::Object(object) => self.keep_fields(fields, place, object),
            Value::Array(values) => {
                values.iter_mut().for_each(|value| self.keep(fields, place, value));
            }
            Value::String(text) if place == "command" && !is_options(text) => {
                self.left_out.insert(place.to_owned());
                text.clear();
            }
            Value::String(text) => self.note(place, text),
            Value::Number(_) | Value::Bool(_) => {
                self.numbers.insert(place.to_owned());
            }
            Value::Null => {}
        }
    }

    fn keep_fields(&mut self, fields: Fields, place: &str, object: &mut Map<String, Value>) {
        let lists = fields.iter().filter(|(holder, _)| *holder == place);
        let names: Vec<&str> = lists.flat_map(|(_, names)| names.split_whitespace()).collect();
        let below = |name: &str| {
            if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
        };
        object.retain(|name, value| {
            if names.contains(&name.as_str()) {
                self.keep(fields, &below(name), value);
            } else if names.contains(&"*") {
                self.note(&below("*"), name);
                self.keep(fields, &below("*"), value);
            } else {
                if !value.is_null() {
                    self.left_out.insert(below(name));
                }
                return false;
            }
            true
        });
    }

    fn note(&mut self, place: &str, text: &str) {
        if !is_public(text) {
            self.private.entry(place.to_owned()).or_insert_with(|| text.to_owned());
        } else if !text.is_empty() {
            self.texts.entry(place.to_owned()).or_default().insert(text.to_owned());
        }
    }
}

/// False for a text with an absolute path, a path below the home folder, an address, a variable's value or a control
/// character, and for a long one.
fn is_public(text: &str) -> bool {
    let is_private_word = |word: &str| {
        (word.len() > 1 && word.starts_with(['/', '$']))
            || word.starts_with("~/")
            || word.contains("://")
            || word.split_once('@').is_some_and(|(name, _)| !name.is_empty())
            || word.split_once('=').is_some_and(|(name, _)| !name.is_empty())
    };
    let is_gap = |c: char| c.is_whitespace() || "'\"`()[]{}<>,;:=".contains(c);
    text.len() <= LONGEST
        && !text.contains(char::is_control)
        && !text.split_whitespace().any(is_private_word)
        && !text.split(is_gap).any(is_private_word)
}

/// True if a command line is made of options and numbers alone, such as `--budget 4m`.
fn is_options(command: &str) -> bool {
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.len() < 20
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
    };
    let is_flag = |word: &str| {
        let name = word.strip_prefix("--").unwrap_or_default();
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    command.split_whitespace().all(|word| is_number(word) || is_flag(word))
}

/// What keeps a file of records from being published, a sentence each; doubts of its answer may be allowed.
pub(crate) fn obstacles(contents: &Contents, allows_doubts: bool) -> Vec<String> {
    let faults = contents.faults.iter().take(MOST_FAULTS);
    let mut obstacles: Vec<String> =
        faults.map(|(line, fault)| format!("line {line}: {fault}")).collect();
    let records = &contents.records;
    let failed = records.iter().filter(|record| matches!(record.outcome(), Ending::Failed(_)));
    if let Some(first) = failed.clone().next() {
        let count = failed.count();
        obstacles.push(format!("{count} of its processes failed, the first one {}", first.program));
    }
    if records.iter().any(|record| record.setting.is_some() || record.policy.is_some()) {
        obstacles.push(
            "it was measured under a setting: an environment, a wrapper or a policy".to_owned(),
        );
    }
    let Some(answer) = Answer::of(&Figures::of(records)) else {
        obstacles.push("it holds no answer: share results of the default plan".to_owned());
        return obstacles;
    };
    let doubts = answer.doubts.iter().filter(|stated| !allows_doubts || stated.doubt.voids());
    obstacles.extend(doubts.map(ToString::to_string));
    obstacles
}

/// Makes sure that records without their private fields say the same.
///
/// # Errors
/// If they give another answer.
pub(crate) fn ensure_same_answer(contents: &Contents, shared: &Shared) -> anyhow::Result<()> {
    let again = store::parse(shared.text.as_bytes()).context("cannot read the records again")?;
    let answer =
        |contents: &Contents| serde_json::to_value(Answer::of(&Figures::of(&contents.records)));
    ensure!(
        again.faults.is_empty() && answer(contents)? == answer(&again)?,
        "its answer would be another one without the private fields: please report it"
    );
    Ok(())
}
