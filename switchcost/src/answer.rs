//! The answer: what a thread costs, what a task costs, and how many times as much. Made from the rows of a
//! plan that have a name in it.

use record::{Metric, Quantity, Record};
use stats::Estimate;

use crate::cases::{Cases, Key, Runs, case_name};
use crate::{memory, notes};

/// The answer of one or several runs of a plan.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Why its figures should not be trusted: the machine was busy.
    pub busy: Option<String>,
    /// Machine, kernel and runtimes.
    pub machine: String,
    /// Questions with their figures.
    pub rows: Vec<Row>,
    /// When the figures matter, a sentence each.
    pub matters: Vec<String>,
    /// How far to trust them, a sentence each.
    pub trust: Vec<String>,
}

/// A thread's figure and a task's.
#[derive(Clone, Debug)]
pub struct Row {
    /// Question.
    pub name: String,
    /// Metric of the figures.
    pub metric: Metric,
    /// Kind and unit of the figures.
    pub quantity: Quantity,
    /// Thread's figure.
    pub thread: f64,
    /// Task's figure.
    pub task: f64,
    /// The one divided by the other.
    pub ratio: Estimate,
}

/// Share of the CPU time, used by others or stolen, from which a machine counts as busy.
const BUSY: f64 = 0.05;

/// Distance of two equal runs, as a share, from which it does too.
const RESTLESS: f64 = 0.1;

/// Distance of the equal runs of a round: the larger figure over the smaller, less one.
struct Apart {
    median: Option<f64>,
    pairs: usize,
}

/// Count that the sentences on when it matters are about.
pub const MANY: f64 = 10_000.0;

impl Answer {
    /// The answer of these records; `None` where their plan gives none, or its rows were not measured.
    pub fn of(records: &[Record]) -> Option<Answer> {
        let cases = Cases::of(records);
        let rows = cases.in_order().into_iter().filter_map(|(key, runs)| row(&cases, key, runs));
        let rows: Vec<Row> = rows.collect();
        if rows.is_empty() {
            return None;
        }
        let (used, stolen) = others(records);
        let apart: Vec<f64> = cases.in_order().iter().flat_map(|(_, runs)| runs.apart()).collect();
        let apart = Apart { median: stats::median(&apart).map(f64::exp_m1), pairs: apart.len() };
        let busy = (used + stolen > BUSY || apart.median > Some(RESTLESS)).then(|| {
            let apart = apart.median.map_or(String::new(), |apart| {
                format!(", and two equal runs differed by {}", percent(apart))
            });
            format!(
                "This machine was busy: other programs used {} of its CPU time, its host stole {}{apart}. Repeat it when it is quiet.",
                percent(used),
                percent(stolen)
            )
        });
        let matters = [switches(&rows), waiting(&rows)].into_iter().flatten();
        let matters = matters.chain(everyday(&cases, &rows)).collect();
        let trust = vec![trust(records, &apart, used, stolen)];
        Some(Answer { busy, machine: machine(records), rows, matters, trust })
    }
}

fn row(cases: &Cases<'_>, key: &Key, runs: &Runs<'_>) -> Option<Row> {
    let name = runs.place.case.answer.as_ref()?;
    let (other, versus) = cases.versus(key)?;
    let metric = runs.view.metric.clone();
    let (thread, task, ratio) = match metric.is_slope() {
        true => {
            let slopes = memory::slopes(&runs.all, Some(&versus.all))?;
            let ratio = slopes.ratio?;
            let ratio = Estimate { value: ratio.estimate, n: ratio.n, interval: Some(ratio) };
            let task = memory::slopes(&versus.all, None)?;
            let figure = |slopes: &memory::Slopes| slopes.headline().line.slope.estimate;
            (figure(&slopes), figure(&task), ratio)
        }
        false => {
            let own = cases.reading(key)?;
            (own.mean.value, cases.reading(&other)?.mean.value, own.ratio?)
        }
    };
    let name = case_name(name, &key.column);
    Some(Row { name, quantity: metric.quantity(), metric, thread, task, ratio })
}

/// Share of the CPU time that other programs used while something was timed, and that was stolen.
fn others(records: &[Record]) -> (f64, f64) {
    let (mut all, mut others, mut stolen) = (0.0, 0.0, 0.0);
    for record in records.iter().filter(|record| record.is_whole()) {
        let (Some(samples), Some(seen)) = (&record.samples, record.interference) else {
            continue;
        };
        let cpus =
            record.machine().cpus_online.as_ref().and_then(|list| record::machine::cpu_list(list));
        let time = samples.mean * samples.count as f64 * cpus.map_or(1.0, |cpus| cpus.len() as f64);
        let own = record.usage.map_or(0, |usage| usage.user_ns + usage.system_ns) as f64;
        let stolen_now = seen.steal.unwrap_or(0) as f64;
        if let Some(idle) = seen.idle {
            all += time;
            stolen += stolen_now;
            others += time - idle as f64 - own - stolen_now;
        }
    }
    let share = |part: f64| if all > 0.0 { (part / all).clamp(0.0, 1.0) } else { 0.0 };
    (share(others), share(stolen))
}

fn switches(rows: &[Row]) -> Option<String> {
    let (threads, tasks) = range(rows, |row| (row.metric == Metric::Hop).then_some(MANY / 1e9))?;
    let show = |range| span(range, |share| number(share * 100.0)) + " %";
    Some(format!(
        "10,000 switches/s take threads {} of a CPU, tasks {}.",
        show(threads),
        show(tasks)
    ))
}

fn waiting(rows: &[Row]) -> Option<String> {
    let (threads, tasks) = range(rows, |row| row.metric.is_slope().then_some(MANY))?;
    let show = |range| span(range, |bytes| short(Quantity::Bytes, bytes));
    Some(format!("10,000 waiting threads hold {}, tasks {}.", show(threads), show(tasks)))
}

/// What programs do every day, a sentence for the first such work, in switches and creations, and one for
/// the others.
fn everyday(cases: &Cases<'_>, rows: &[Row]) -> Vec<String> {
    let all = cases.in_order().into_iter().filter(|(_, runs)| runs.place.case.everyday);
    let works = all.filter_map(|(key, runs)| {
        Some((runs.place.case.row.as_str(), cases.reading(key)?.mean.value))
    });
    let works: Vec<(&str, f64)> = works.collect();
    let Some((&(first, ns), others)) = works.split_first() else {
        return Vec::new();
    };
    let of = |metric| rows.iter().find(|row| row.metric == metric);
    let units = of(Metric::Hop).zip(of(Metric::Task)).map_or(String::new(), |(hop, task)| {
        let pair =
            |hop, task| format!("{} switches or {} creations", number(ns / hop), number(ns / task));
        let (thread, task) = (pair(hop.thread, task.thread), pair(hop.task, task.task));
        format!(", as {thread} of a thread, {task} of a task")
    });
    let took = |name, ns| format!("{name} {}", short(Quantity::Time, ns));
    let mut lines = vec![took(format!("{} takes", capitalised(first)), ns) + &units + "."];
    if let Some((&(second, ns), others)) = others.split_first() {
        let mut line = took(format!("{} takes", capitalised(second)), ns);
        others.iter().for_each(|&(name, ns)| line += &format!(", {}", took(name.to_owned(), ns)));
        lines.push(line + ".");
    }
    lines
}

/// Text with a capital letter first.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A range as text, or one figure where both ends read the same.
fn span((low, high): (f64, f64), show: impl Fn(f64) -> String) -> String {
    match (show(low), show(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    }
}

/// Least and greatest figure of the threads and of the tasks, of the rows that have a factor, times that.
fn range(rows: &[Row], factor: impl Fn(&Row) -> Option<f64>) -> Option<((f64, f64), (f64, f64))> {
    let figures = |of: fn(&Row) -> f64| {
        let all = rows.iter().filter_map(|row| Some(of(row) * factor(row)?));
        all.fold(None, |range: Option<(f64, f64)>, x| {
            Some(range.map_or((x, x), |(low, high)| (low.min(x), high.max(x))))
        })
    };
    Some((figures(|row| row.thread)?, figures(|row| row.task)?))
}

fn trust(records: &[Record], apart: &Apart, used: f64, stolen: f64) -> String {
    let apart = match apart.median {
        Some(median) => {
            format!("two equal runs differed by {} (median of {})", percent(median), apart.pairs)
        }
        None => "two equal runs were not made (--a-a makes them)".to_owned(),
    };
    let rounds = records.iter().map(|r| r.round.saturating_add(1)).max().unwrap_or(1);
    let again = match records.iter().filter(|record| record.disturbed).count() {
        0 => String::new(),
        disturbed => format!(", {disturbed} of {} processes measured again", records.len()),
    };
    format!(
        "Others used {} of the CPU time, {} was stolen; {apart}; {rounds} rounds{again}.",
        percent(used),
        percent(stolen)
    )
}

/// Machine, kernel and runtimes in a line.
pub fn machine(records: &[Record]) -> String {
    let runs = notes::runs(records);
    let Some(run) = runs.first() else {
        return String::new();
    };
    let machine = &run.machine;
    let cpu = machine.cpu_model.as_deref().unwrap_or("unknown CPU");
    let words = ["(R)", "(TM)", " Processor", " CPU"];
    let cpu = words.iter().fold(cpu.to_owned(), |cpu, word| cpu.replace(word, ""));
    let number = |list: &Option<String>| Some(record::machine::cpu_list(list.as_ref()?)?.len());
    let cpus = match (number(&machine.cpus_online), number(&machine.affinity)) {
        (Some(online), Some(allowed)) if allowed < online => {
            format!(", {allowed} of {online} CPUs")
        }
        (Some(online), _) => format!(", {online} CPUs"),
        (None, _) => String::new(),
    };
    let host = match machine.virtualisation.as_deref() {
        None | Some("none") => String::new(),
        Some(host) => format!(" under {host}"),
    };
    let kernel = machine.kernel_release.as_deref().unwrap_or("of unknown release");
    let mut runtimes: Vec<String> = Vec::new();
    for runtime in records.iter().filter_map(|record| record.runtime.as_ref()) {
        if let (true, Some(version)) = (runtime.name == "tokio", &runtime.version) {
            runtimes.push(format!(", Tokio {version}"));
        }
    }
    runtimes.sort_unstable();
    runtimes.dedup();
    format!("{cpu}{cpus}{host}, Linux {kernel}{}", runtimes.concat())
}

/// Figure with two significant digits.
pub fn short(quantity: Quantity, figure: f64) -> String {
    let (step, units): (f64, &[&str]) = match quantity {
        Quantity::Time => (1000.0, &["ns", "µs", "ms", "s"]),
        Quantity::Bytes => (1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
        _ => return number(figure),
    };
    let mut scaled = figure;
    let mut unit = 0;
    // What would be rounded up to the next unit is shown in it.
    while scaled.abs() >= step * 0.9995 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    format!("{} {}", number(scaled), units[unit])
}

/// Share in per cent with two significant digits.
pub fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// Number with two significant digits, and all digits before its point.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let digits = value.abs().log10().floor() as i32;
    let unit = 10f64.powi(digits - 1);
    let rounded = (value / unit).round() * unit;
    let decimals = (1 - rounded.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{rounded:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_significant() {
        for (value, text) in [
            (0.0, "0"),
            (0.123, "0.12"),
            (1.26, "1.3"),
            (9.96, "10"),
            (12.6, "13"),
            (126.0, "130"),
            (2_849.0, "2800"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(short(Quantity::Time, 999.9), "1.0 µs");
        assert_eq!(short(Quantity::Time, 126.3), "130 ns");
        assert_eq!(short(Quantity::Bytes, 43_224.0), "42 KiB");
        assert_eq!(short(Quantity::Bytes, 395.0), "400 B");
        assert_eq!(percent(0.0034), "0.34 %");
    }
}
