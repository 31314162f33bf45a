//! What a load costs, as text: a verdict, the reason with its figure, and what to do next.

use std::io::{self, Write};

use contract::units::counted;
use facts::service::{Service, ThreadGroup};
use facts::{Link, Quantity};

use super::layout::{width, wrapped};
use super::{Grid, counts, limits, share};
use crate::figures::grade::Grade;
use crate::figures::number::{capitalised, number, percent, range, short, shown};
use crate::views::estimate::{
    Advice, Holding, LEAST_SEEN, Load, Scheduler, Switching, Verdict, Watched,
};
use crate::views::limits::Raise;

/// Share of the CPU time that must have been seen thread by thread, or it is said.
const MOST_SEEN: f64 = 0.95;

/// Most names of threads in the table.
const MOST_NAMES: usize = 3;

/// CPUs in use under which a service does nothing.
const IDLE: f64 = 0.01;

/// CPUs in use under which a service may be busier at another time.
const BUSY: f64 = 0.5;

/// Most children that are named.
const MOST_CHILDREN: usize = 12;

/// Prints a verdict for the switches of a load and one for what its tasks hold, or one of a service; `by` is a sentence
/// on where the figures are from.
pub(crate) fn text(advice: &Advice, by: &str, out: &mut impl Write) -> io::Result<()> {
    let Advice { load, switching, holding, watched } = advice;
    let mut lines = Vec::new();
    let mut grade = Grade::Sure;
    lines.extend(advice.overall().map(overall));
    if let Some(switching) = switching {
        grade = switching.each[0].grade.max(switching.each[1].grade);
        match watched {
            Some(watched) => {
                head(watched, out)?;
                lines.push(of_service(load, switching, watched));
            }
            None => lines.push(switches(load, switching)),
        }
        lines.push(hand_over(load, switching, watched.as_ref()));
    }
    if let Some(holding) = holding {
        grade = grade.max(holding.grade);
        lines.push(tasks(load, holding));
        let count = holding.limits.programs.len();
        lines.extend(holding.limits.raises.iter().map(|raise| command(raise, count)));
    }
    lines.push(by.to_owned());
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

/// The command that raises a limit, and for whom, if not for all of so many.
fn command(Raise { limit, remedy, programs, .. }: &Raise, count: usize) -> String {
    let whom = if programs.len() < count {
        format!(", for {}", programs.join(" and "))
    } else {
        String::new()
    };
    let root = if remedy.needs_root { ", as root" } else { "" };
    format!("    {remedy}   # {}{whom}{root}", limits::name(limit))
}

fn switches(
    load: &Load,
    Switching { each, share: shares, verdict, turns, .. }: &Switching,
) -> String {
    let loopback = match load.link {
        Some(Link::Tcp) => " (loopback: without a network card's interrupts)",
        _ => "",
    };
    let [threads, tasks] = [0, 1].map(|kind| each[kind].grade.mark(&range(shares[kind], share)));
    let like = if load.cpus > load.measured_cpus { ", if they are like those here" } else { "" };
    let all = format!("{}{like}", counted(load.cpus, "CPU"));
    let of_tasks = match load.scheduler {
        Scheduler::CurrentThread => " of one".to_owned(),
        Scheduler::Multi if load.cpus_of_tasks() < load.cpus => {
            format!(" of the {} that one runtime is known to use", load.cpus_of_tasks())
        }
        Scheduler::Multi => String::new(),
    };
    let both = format!("take {threads} of {all}; async tasks {tasks}{of_tasks}");
    let [little, much] = turns.map(rounded);
    let verdict = match verdict {
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
        Verdict::TooMuch => {
            let whom =
                if shares[0][0] > 1.0 { "threads and for async tasks" } else { "one runtime" };
            format!(
                "too many for {whom}. Threads {both}. Next: hand over less often, or run several runtimes."
            )
        }
    };
    let rate = rate(load.switches.unwrap_or(0.0));
    format!("{rate} switches/s over {}{loopback}: {verdict}", load.over())
}

/// What one switch costs: its time, or of a service its CPU time.
fn hand_over(load: &Load, switching: &Switching, watched: Option<&Watched>) -> String {
    let [threads, tasks] = switching.each.map(|cost| {
        let which = if watched.is_some() { cost.cpu } else { cost.time };
        cost.grade.mark(&range(which, |ns| shown(Quantity::Time, ns)))
    });
    let Some(Watched { seen, .. }) = watched else {
        return format!("A hand-over takes {threads} between threads, {tasks} between tasks.");
    };
    let mut counted = format!(
        "Counted: {} switches/s, each taken for a hand-over between threads, {threads} of CPU time here; between \
         tasks {tasks}.",
        rate(load.switches.unwrap_or(0.0))
    );
    if *seen < MOST_SEEN {
        let unseen = percent(1.0 - seen);
        counted += &format!(
            " What came and went took {unseen} of its CPU time, and is taken to be like the rest."
        );
    }
    counted
}

fn tasks(load: &Load, holding: &Holding) -> String {
    let noun = if load.are_connections { "connections" } else { "tasks" };
    let [threads, tasks] =
        holding.bytes.map(|b| holding.grade.mark(&range(b, |b| shown(Quantity::Bytes, b))));
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
            let up_to = holding.up_to.unwrap_or(0);
            let limit = holding.first_limit(0).filter(|(_, most)| *most == up_to);
            let up_to = limit.map_or_else(
                || rounded(up_to as f64),
                |(limit, _)| {
                    format!("{}, the most for {}", counts(up_to as f64), limits::name(limit))
                },
            );
            format!("threads will do. They {both}. That holds up to {up_to}.")
        }
    };
    format!("{} {noun}: {verdict}", counts(load.tasks.unwrap_or(0) as f64))
}

/// Prints what was seen of a service.
fn head(watched: &Watched, out: &mut impl Write) -> io::Result<()> {
    let service = &watched.service;
    let seconds = service.elapsed_ns as f64 / 1e9;
    let bytes =
        |bytes: Option<u64>| bytes.map_or("?".to_owned(), |b| short(Quantity::Bytes, b as f64));
    let ended = if service.has_ended { "; it has ended" } else { "" };
    let processes = match service.pids.len() {
        1 => String::new(),
        processes => format!(" of {processes} processes"),
    };
    let line = format!(
        "{}: {}{processes}, {} CPUs in use, {} resident and {} of the kernel's ({seconds:.1} s{ended})",
        service.name,
        counted(service.threads, "thread"),
        number(watched.used),
        bytes(service.resident),
        bytes(service.kernel),
    );
    wrapped(&line, 0, width(), out)?;
    let row = |name: String, groups: &[ThreadGroup]| {
        let sum = |part: fn(&ThreadGroup) -> u64| groups.iter().map(part).sum::<u64>() as f64;
        let threads = counts(sum(|group| group.threads));
        let switches = [sum(|group| group.voluntary), sum(|group| group.involuntary)];
        let [waited, preempted] = switches.map(|count| rate(count / seconds));
        let cpus = number(sum(|group| group.cpu_ns) / service.elapsed_ns as f64);
        vec![name, threads, waited, preempted, cpus]
    };
    let (named, others) = service.groups.split_at(service.groups.len().min(MOST_NAMES));
    let named = named.iter().map(|group| row(group.name.clone(), std::slice::from_ref(group)));
    let more = (!others.is_empty()).then(|| row(counted(others.len(), "more name"), others));
    let head = ["thread", "threads", "switches/s", "preempted/s", "CPUs"];
    Grid::new(head, named.chain(more).collect()).write_text(width(), out)
}

/// What the switches of a service take, what that means, and what to do next.
fn of_service(load: &Load, switching: &Switching, watched: &Watched) -> String {
    let Watched { service, used, seen, of_its_time } = watched;
    let is_unseen = *seen < LEAST_SEEN;
    let mark = |text: String| switching.each[0].grade.mark(&text);
    let verdict = match switching.verdict {
        _ if is_unseen => format!(
            "nothing can be said: {} of its CPU time went to what came and went between two looks.",
            percent(1.0 - seen)
        ),
        verdict => format!(
            "switching {}: it takes {} of its CPU time, {} of {} that it could use.",
            match verdict {
                Verdict::Little => "does not matter",
                Verdict::Unclear | Verdict::TooMuch => "is worth a look",
                Verdict::Much => "is your bottleneck",
            },
            mark(range(*of_its_time, share)),
            mark(range(switching.share[0], share)),
            if load.cpus == 1.0 {
                "the CPU".to_owned()
            } else {
                format!("the {} CPUs", number(load.cpus))
            },
        ),
    };
    let next = match (switching.verdict, unwatched(service)) {
        (_, Some(unwatched)) => unwatched,
        _ if is_unseen => "Next: `perf stat -e context-switches` counts them.".to_owned(),
        (Verdict::Little, None) if *used >= IDLE => "Threads will do.".to_owned(),
        _ if *used < BUSY => "Next: watch it at its busiest.".to_owned(),
        (Verdict::Much, None) => format!(
            "Next: hand over less often, in larger batches, or try async tasks: as many hand-overs take them {} of a \
             CPU.",
            switching.each[1].grade.mark(&range(switching.cpus[1], share))
        ),
        _ => "Next: hand over less often, in larger batches, and watch it again.".to_owned(),
    };
    let whose = if service.children.is_empty() { "" } else { "of what was watched alone, " };
    capitalised(&format!("{whose}{verdict} {next}"))
}

/// Children that were not watched, and how to watch them.
fn unwatched(service: &Service) -> Option<String> {
    let first = &service.children.first()?.name;
    let count = service.children.len();
    let (noun, are, them) =
        if count == 1 { ("child", "is", "it") } else { ("children", "are", "them") };
    let how = match &service.group {
        Some(group) if count > MOST_CHILDREN => format!("--cgroup {group}"),
        _ => {
            let children = service.children.iter().map(|child| child.pid);
            let pids = service.pids.iter().copied().chain(children).map(|pid| pid.to_string());
            format!("--pid {}", pids.collect::<Vec<_>>().join(","))
        }
    };
    Some(format!("{count} {noun} ({first}) {are} not watched. Next: add {them} by `{how}`."))
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

#[cfg(test)]
mod tests {
    use facts::service::Child;

    use super::*;

    #[test]
    fn children_are_named_with_the_commands_that_watch_them() {
        let child = |pid| Child { pid, name: "worker".to_owned() };
        let of = |count, group: Option<&str>| {
            let children = (2..2 + count).map(child).collect();
            let group = group.map(str::to_owned);
            unwatched(&Service { pids: vec![1], children, group, ..Service::default() })
        };
        let many = MOST_CHILDREN as i32 + 1;
        assert_eq!(of(0, Some("/g")), None);
        for (count, group, how) in [
            (1, None, "by `--pid 1,2`."),
            (1, Some("/g"), "by `--pid 1,2`."),
            (many, Some("/g"), "by `--cgroup /g`."),
        ] {
            let text = of(count, group).unwrap();
            assert!(text.ends_with(how), "{text}");
        }
    }
}
