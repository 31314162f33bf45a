//! An answer as it is published: records without what is private, and whether they are fit for it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use contract::message::{Distribution, Runtime, Usage};
use facts::machine::{CpuCache, Rlimit, Rlimits, StartPressure, Topology};
use facts::{
    Account, Also, Build, Case, Ending, Interference, Kind, Machine, Memory, MemoryChange, Plan,
    Process, Run, Samples, Section, Thirds,
};
use serde::Deserialize;
use serde_json::Value;

use super::answer::Answer;
use crate::figures::Figures;
use crate::measure::store::{self, Contents};

#[cfg(test)]
mod tests;

/// Names every field of a type, those that are published and those that are private and emptied. A field that
/// stands in neither list does not compile, so that somebody decides.
macro_rules! publish {
    ($value:expr, $type:ident { $($public:ident)* } private { $($private:ident)* }) => {
        let $type { $($public: _,)* $($private,)* } = $value;
        $(*$private = Default::default();)*
    };
}

/// The same of a type that is published whole.
macro_rules! publish_all {
    ($($type:ident { $($public:ident)* })*) => {
        $(let _ = |value: &$type| { let $type { $($public: _,)* } = value; };)*
    };
}

/// Takes out of a header what is private.
fn publish_run(run: &mut Run) {
    publish!(&mut *run, Run { schema kind id started command seed machine build plan } private { sides margin });
    publish!(&mut run.machine, Machine {
        kernel_release kernel_version preemption preemption_mode preemption_boot distribution cpu_model cpus_online
        affinity topology caches frequency_driver governor boost idle_driver halt_poll_ns virtualisation mitigations
        clock_source clock_step_ns thp_enabled thp_defrag sched_autogroup timer_slack_ns seccomp cpu_quota memory_limit rlimits
        memory_total_bytes load_average pressure
    } private { hardware });
    publish!(&mut run.build, Build {
        rustc profile target package_version git_revision dirty tokio
    } private { rustflags });
    publish_all! {
        Topology { sockets cores threads_per_core }
        CpuCache { level kind size_bytes shared_cpu_list }
        Rlimits { nofile nproc stack address_space }
        Rlimit { soft hard }
        StartPressure { cpu memory io }
        Plan { question sections cases }
        Section { title metric also swept }
        Also { name metric }
        Case { section row column baseline versus answer yardstick everyday known over }
    }
    if !is_options(&run.command) {
        run.command.clear();
    }
}

/// Takes out of a process what is private.
fn publish_process(process: &mut Process) {
    publish!(&mut *process, Process {
        schema kind run case round twin x started program args cpus tasks tokens chains trips hops
        arrivals bytes claim runtime samples usage slices account migrations interference memory setup_ns
        first_ns teardown_ns extra partial
    } private { side policy setting counters left_behind error not_run stderr });
    if let Some(samples) = &mut process.samples {
        publish!(samples, Samples { distribution p999 thirds } private {});
    }
    publish_all! {
        Runtime { name version flavor workers }
        Distribution { count mean stddev min p50 p90 p99 max }
        Thirds { first last error }
        Usage { user_ns system_ns voluntary_switches involuntary_switches minor_faults major_faults }
        Account { at all idle busy stolen own }
        Interference {
            steal throttled rescheduling function_calls cpu_pressure memory_pressure io_pressure
        }
        MemoryChange { before held }
        Memory {
            resident anonymous huge pipe_pages peak_resident peak_virtual system_kernel_stacks system_page_tables
            system_slab
        }
    }
}

/// Fields whose names are data.
const MAPS: [&str; 2] = ["machine.mitigations", "extra"];

/// Where older files hold what is not read any more.
const RETIRED: [&str; 19] = [
    "cache_line.cpus",
    "cache_line.before",
    "cache_line.after",
    "order",
    "version",
    "interference.idle",
    "memory.before.pss",
    "memory.held.pss",
    "memory.before.page_tables",
    "memory.held.page_tables",
    "machine.architecture",
    "machine.smt_active",
    "machine.numa_nodes",
    "machine.base_frequency_khz",
    "machine.max_frequency_khz",
    "machine.clock_read_ns",
    "machine.swap_total_bytes",
    "machine.perf_event_paranoid",
    "machine.io_uring_disabled",
];
/// No text that is published is longer, in bytes.
const LONGEST: usize = 200;

/// Lines that are no records, as many as are named.
const MOST_FAULTS: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Published {
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

impl Published {
    /// Records without what is private; cases that were not tried are left out, since their reasons are free text.
    ///
    /// # Errors
    /// If a line is no record.
    pub(crate) fn of(file: &[u8]) -> anyhow::Result<Published> {
        let mut published = Published::default();
        for line in file.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let value: Value = serde_json::from_slice(line)?;
            let line = if value["kind"] == serde_json::to_value(Kind::Run)? {
                let mut run = Run::deserialize(&value)?;
                publish_run(&mut run);
                serde_json::to_string(&run)?
            } else {
                let mut process = Process::deserialize(&value)?;
                if matches!(process.outcome(), Ending::NotRun(_)) {
                    published.left_out.insert("not_run".to_owned());
                    continue;
                }
                published.processes += 1;
                publish_process(&mut process);
                serde_json::to_string(&process)?
            };
            published.compare("", &value, &serde_json::from_str(&line)?);
            published.text += &line;
            published.text.push('\n');
        }
        Ok(published)
    }

    /// Notes what of a value is kept in another and what is not.
    fn compare(&mut self, place: &str, before: &Value, after: &Value) {
        match (before, after) {
            (Value::Null, _) => {}
            (Value::Object(fields), Value::Object(kept)) => {
                let dot = if place.is_empty() { "" } else { "." };
                for (name, value) in fields {
                    let is_data = MAPS.contains(&place);
                    if is_data {
                        self.note(place, name);
                    }
                    let below = format!("{place}{dot}{}", if is_data { "*" } else { name });
                    self.compare(&below, value, kept.get(name).unwrap_or(&Value::Null));
                }
            }
            (Value::Array(values), Value::Array(kept)) if values.len() == kept.len() => {
                values.iter().zip(kept).for_each(|(value, kept)| self.compare(place, value, kept));
            }
            (Value::String(text), _) if before == after => self.note(place, text),
            (Value::Number(_) | Value::Bool(_), _) if before == after => {
                self.numbers.insert(place.to_owned());
            }
            _ => {
                if !RETIRED.contains(&place) {
                    self.left_out.insert(place.to_owned());
                }
            }
        }
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
    let doubts = answer.doubts.iter().filter(|doubt| !allows_doubts || doubt.voids());
    obstacles.extend(doubts.map(ToString::to_string));
    obstacles
}

/// Makes sure that records without their private fields say the same.
///
/// # Errors
/// If they give another answer.
pub(crate) fn ensure_same_answer(contents: &Contents, published: &Published) -> anyhow::Result<()> {
    let again = store::parse(published.text.as_bytes()).context("cannot read the records again")?;
    let answer =
        |contents: &Contents| serde_json::to_value(Answer::of(&Figures::of(&contents.records)));
    ensure!(
        again.faults.is_empty() && answer(contents)? == answer(&again)?,
        "its answer would be another one without the private fields: please report it"
    );
    Ok(())
}
