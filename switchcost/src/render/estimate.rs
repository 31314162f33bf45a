//! What a load costs, as text: a verdict, the reason with its figure, and what to do next.

use std::io::{self, Write};

use contract::units::counted;
use facts::Quantity;
use facts::service::ThreadGroup;

use super::grid::Grid;
use super::layout::{width, wrapped};
use super::limits;
use crate::figures::grade::{Grade, Graded};
use crate::figures::number::{Shown, number, percent, short, shown};
use crate::views::estimate::{
    Advice, Holding, LEAST_SEEN, Load, Range, Switching, Verdict, Watched,
};
use crate::views::limits::Raise;

/// Most names of threads in the table.
const MOST_NAMES: usize = 3;

/// CPUs in use under which a service does nothing.
const IDLE: f64 = 0.01;

/// Prints a verdict for the switches of a load and one for what its tasks hold, or one of a service; `by` is a sentence
/// on where the figures are from.
pub(crate) fn text(advice: &Advice, by: &str, out: &mut impl Write) -> io::Result<()> {
    let Advice { load, switching, holding, watched } = advice;
    let mut lines = Vec::new();
    lines.extend(advice.overall().map(overall));
    if let Some(switching) = switching {
        if let Some(watched) = watched {
            head(watched, out)?;
            lines.push(of_service(load, switching, watched));
        } else {
            lines.push(switches(load, switching));
        }
        let of_one = |ns| shown(Quantity::Time, ns);
        let [threads, tasks] = switching.each.map(|cost| marked(switching.grade, cost, of_one));
        lines.push(format!(
            "A hand-over takes {threads} of CPU time between threads, {tasks} between tasks."
        ));
    }
    if let Some(holding) = holding {
        lines.push(tasks(load, holding));
        lines.extend(holding.limits.raises.iter().map(command));
    }
    lines.push(by.to_owned());
    let grades = [switching.as_ref().map(|of| of.grade), holding.as_ref().map(|of| of.grade)];
    let grade = grades.into_iter().flatten().max().unwrap_or_default();
    if grade > Grade::Sure {
        lines.push(format!(
            "{grade} marks figures of a disturbed machine: `switchcost` measures again."
        ));
    }
    lines
        .iter()
        .try_for_each(|line| wrapped(line, if line.starts_with(' ') { 6 } else { 0 }, width(), out))
}

/// Verdict on switches and tasks together.
fn overall(verdict: Verdict) -> String {
    let verdict = match verdict {
        Verdict::Little => "threads will do.",
        Verdict::Unclear => "it depends on the rest of your program.",
        Verdict::Much => "take async tasks.",
        Verdict::TooMuch => "neither threads nor async tasks, as things are.",
    };
    format!("Overall: {verdict}")
}

/// The command that raises a limit, and for whom.
fn command(Raise { limit, remedy, programs, .. }: &Raise) -> String {
    format!("    {remedy}   # {}, for {}", limits::name(limit), programs.join(" and "))
}

fn switches(load: &Load, switching: &Switching) -> String {
    let [threads, tasks] = switching.share.map(|ends| marked(switching.grade, ends, share));
    let of_tasks = if load.cpus_of_tasks() < load.cpus {
        format!(" of the {} that one runtime is known to use", load.cpus_of_tasks())
    } else {
        String::new()
    };
    let both =
        format!("take {threads} of {}; async tasks {tasks}{of_tasks}", counted(load.cpus, "CPU"));
    let [little, much] = switching.turns.map(rounded);
    let verdict = match switching.verdict {
        Verdict::Little => {
            format!("threads will do. They {both}. That holds up to {little} switches/s.")
        }
        Verdict::Unclear => format!(
            "it depends on the rest of your program. Threads {both}. Next: watch it under load, \
             `switchcost estimate --pid PID`."
        ),
        Verdict::Much => {
            format!(
                "take async tasks. Threads {both}. Those are too much from {much} switches/s on."
            )
        }
        Verdict::TooMuch => format!(
            "too many. Threads {both}. Next: hand over less often, or run several runtimes."
        ),
    };
    format!("{} switches/s over {}: {verdict}", rate(load.switches.unwrap_or(0.0)), load.over())
}

fn tasks(load: &Load, holding: &Holding) -> String {
    let noun = if load.are_connections { "connections" } else { "tasks" };
    let bytes = |bytes| shown(Quantity::Bytes, bytes);
    let [threads, tasks] = holding.bytes.map(|ends| marked(holding.grade, ends, bytes));
    let of = holding.memory.map_or(String::new(), |all| {
        format!(" of the {} here", short(Quantity::Bytes, all as f64))
    });
    let both = format!("hold {threads}{of}; async tasks {tasks}; buffers are not in it");
    let [of_threads, of_tasks] = [0, 1].map(|kind| {
        let limit = holding.first_limit(kind);
        limit.map_or("any number".to_owned(), |(limit, most)| {
            format!("at most {} ({})", counts(most as f64), limits::name(limit))
        })
    });
    let verdict = match holding.verdict {
        Verdict::TooMuch => format!(
            "more than this system allows. As threads fit {of_threads}, as async tasks {of_tasks}; threads would {both}. \
             Next, raise:"
        ),
        Verdict::Much if holding.is_refused() => format!(
            "take async tasks. As threads fit {of_threads}; they would {both}. To fit more threads, raise:"
        ),
        Verdict::Much => format!("take async tasks. Threads {both}."),
        Verdict::Unclear => format!("it depends on what else needs the memory. Threads {both}."),
        Verdict::Little => {
            let up_to = rounded(holding.up_to.unwrap_or(0) as f64);
            format!("threads will do. They {both}. That holds up to {up_to}.")
        }
    };
    format!("{} {noun}: {verdict}", counts(load.tasks.unwrap_or(0) as f64))
}

/// Prints what was seen of a service.
fn head(Watched { service, used, .. }: &Watched, out: &mut impl Write) -> io::Result<()> {
    let seconds = service.elapsed_ns as f64 / 1e9;
    let line = format!(
        "{}: {} of {}, {} CPUs in use ({seconds:.1} s{})",
        service.name,
        counted(service.threads, "thread"),
        counted(service.processes as u64, "process"),
        number(*used),
        if service.has_ended { "; it has ended" } else { "" },
    );
    wrapped(&line, 0, width(), out)?;
    let row = |name: String, groups: &[ThreadGroup]| {
        let sum = |part: fn(&ThreadGroup) -> u64| groups.iter().map(part).sum::<u64>() as f64;
        vec![
            name,
            counts(sum(|group| group.threads)),
            rate(sum(|group| group.voluntary) / seconds),
            rate(sum(|group| group.involuntary) / seconds),
            number(sum(|group| group.cpu_ns) / service.elapsed_ns as f64),
        ]
    };
    let (named, others) = service.groups.split_at(service.groups.len().min(MOST_NAMES));
    let named = named.iter().map(|group| row(group.name.clone(), std::slice::from_ref(group)));
    let more = (!others.is_empty()).then(|| row(counted(others.len() as u64, "more name"), others));
    let head = ["thread", "threads", "switches/s", "preempted/s", "CPUs"];
    Grid::new(head, named.chain(more).collect()).write_text(width(), out)
}

/// What the switches of a service take, what that means, and what to do next.
fn of_service(load: &Load, switching: &Switching, watched: &Watched) -> String {
    if watched.seen < LEAST_SEEN {
        let unseen = percent(1.0 - watched.seen);
        return format!(
            "Nothing can be said: {unseen} of its CPU time went to what came and went between two looks. Next: `perf \
             stat -e context-switches` counts its switches."
        );
    }
    let (verdict, next) = match switching.verdict {
        Verdict::Little => ("does not matter", "Threads will do."),
        Verdict::Unclear | Verdict::TooMuch => {
            ("is worth a look", "Next: hand over less often, in larger batches.")
        }
        Verdict::Much => (
            "is your bottleneck",
            "Next: hand over less often, in larger batches, or try async tasks.",
        ),
    };
    let next = if watched.used < IDLE { "Next: watch it at its busiest." } else { next };
    let cpus = match load.cpus {
        1.0 => "CPU".to_owned(),
        cpus => format!("{} CPUs", number(cpus)),
    };
    let [of_its_time, of_cpus] =
        [watched.of_its_time, switching.share[0]].map(|ends| marked(switching.grade, ends, share));
    format!(
        "Switching {verdict}: {} switches/s, each taken for a hand-over between threads, take {of_its_time} of its CPU \
         time, {of_cpus} of the {cpus} that it could use. {next}",
        rate(load.switches.unwrap_or(0.0)),
    )
}

/// A range with the mark of its grade.
fn marked(grade: Grade, ends: Range, show: impl Fn(f64) -> Shown) -> String {
    Graded { estimate: ends, grade }.show(show)
}

/// A share in per cent.
fn share(share: f64) -> Shown {
    let number = if share < 0.0001 { "under 0.01".to_owned() } else { number(share * 100.0) };
    Shown { number, unit: "%" }
}

/// A whole number with commas.
fn counts(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok());
    groups.collect::<Vec<_>>().join(",")
}

/// A load with two digits, rounded down: what threads will do must not grow.
fn rounded(load: f64) -> String {
    let unit = 10f64.powf(load.max(1.0).log10().floor() - 1.0);
    counts((load / unit + 1e-9).floor() * unit)
}

/// A number of events a second: one that is not 0 never looks so.
fn rate(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { number(rate) } else { counts(rate) }
}
