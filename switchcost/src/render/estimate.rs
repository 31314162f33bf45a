//! What a load costs, as text: a verdict, the reason with its figure, and what to do next.

use std::io::{self, Write};

use facts::service::Service;
use facts::{Link, Quantity};

use super::layout::{width, wrapped};
use super::{Grid, counts, plural, share};
use crate::figures::grade::Grade;
use crate::figures::number::{number, percent, range, short, shown};
use crate::system::console::plain_line;
use crate::views::estimate::{
    Advice, Holding, LEAST_SEEN, LITTLE_OF_ITS_TIME, Load, Switching, Verdict, Watched,
};
use crate::views::hand_over::{Cost, Range, Scheduler};

/// Share of the CPU time that must have been seen thread by thread, or it is said.
const MOST_SEEN: f64 = 0.95;

/// Most names of threads in the table.
const MOST_NAMES: usize = 3;

/// Most children that are named.
const MOST_CHILDREN: usize = 12;

/// Prints a verdict for the switches of a load and one for what its tasks hold, or one of a service; `by` is a sentence
/// on where the figures are from.
pub(crate) fn text(advice: &Advice, by: &str, out: &mut impl Write) -> io::Result<()> {
    let Advice { load, switching, holding, watched } = advice;
    let mut lines = Vec::new();
    let mut grade = Grade::Sure;
    if let Some(switching) = switching {
        grade = switching.each[0].grade.max(switching.each[1].grade);
        match watched {
            Some(watched) => {
                head(watched, out)?;
                lines = of_service(load, switching, watched);
            }
            None => lines.push(switches(load, switching)),
        }
    }
    if let Some(holding) = holding {
        grade = grade.max(holding.grade);
        lines.push(tasks(load, holding));
    }
    lines.push(by.to_owned());
    if grade > Grade::Sure {
        lines.push(format!("{grade} marks what was measured on a disturbed machine: `switchcost` measures again."));
    }
    for line in lines {
        wrapped(&line, 0, width(), out)?;
    }
    let raises = holding.iter().flat_map(|holding| &holding.limits.raises);
    raises.into_iter().try_for_each(|raise| {
        let (limit, remedy) = (&raise.shortage.limit.name, &raise.shortage.remedy);
        let refusal = remedy.refusal.map_or(String::new(), |why| format!(": refused here, {why}"));
        let root = if remedy.needs_root { "; needs root" } else { "" };
        wrapped(&format!("    {remedy}   # {limit}{root}{refusal}"), 6, width(), out)
    })
}

/// The CPU time or the time of a hand-over, with its mark.
fn times(cost: &Cost, which: Range) -> String {
    cost.grade.mark(&range(which, |ns| shown(Quantity::Time, ns)))
}

fn switches(load: &Load, Switching { each, share: shares, verdict, turns, .. }: &Switching) -> String {
    let link = match load.link {
        Some(Link::Tcp) => "TCP (loopback: without a network card's interrupts)",
        Some(Link::Memory) => "channels in memory",
        Some(Link::Pipe) | None => "pipes",
    };
    let [threads, tasks] = [0, 1].map(|kind| each[kind].grade.mark(&range(shares[kind], share)));
    let like = if load.cpus > load.measured_cpus { ", if they are like those here" } else { "" };
    let all = format!("{} CPU{}{like}", load.cpus, plural(load.cpus as usize));
    let runtime = match load.scheduler {
        Scheduler::CurrentThread => " on one thread",
        Scheduler::Multi => "",
    };
    let room = load.cpus_of_tasks();
    let of_tasks = if room < load.cpus {
        format!(" of the {room} that one runtime was seen to use")
    } else {
        String::new()
    };
    let both = format!("threads take {threads} of {all}, async tasks{runtime} {tasks}{of_tasks}");
    let [little, much] = turns.map(rounded);
    let verdict = match verdict {
        Verdict::Little => format!("threads will do: {both}. That holds up to {little} switches/s."),
        Verdict::Unclear => format!(
            "it depends on the rest of your program: {both}. Next: watch it under load, `switchcost estimate --pid PID`."
        ),
        Verdict::Much => format!(
            "take async tasks: {both}. Threads are too much from {much} switches/s on."
        ),
        Verdict::TooMuch => format!(
            "too many for threads and for async tasks: {both}. Next: hand over less often, or run several runtimes."
        ),
    };
    let [as_threads, as_tasks] = each.map(|cost| times(&cost, cost.time));
    format!(
        "{} switches/s over {link}: {verdict} A hand-over takes {as_threads} between threads, {as_tasks} between tasks.",
        rate(load.switches.unwrap_or(0.0)),
    )
}

fn tasks(load: &Load, holding: &Holding) -> String {
    let noun = if load.are_connections { "connections" } else { "tasks" };
    let [threads, tasks] =
        holding.bytes.map(|b| holding.grade.mark(&range(b, |b| shown(Quantity::Bytes, b))));
    let of = holding.memory.map_or(String::new(), |all| {
        format!(" of the {} here", short(Quantity::Bytes, all as f64))
    });
    let both = format!("threads hold {threads}{of}, async tasks {tasks}, buffers apart");
    let most = |kind: usize| holding.first_limit(kind);
    let at_most = |kind: usize| {
        most(kind).map_or(String::new(), |(limit, most)| {
            format!("at most {} fit, by {limit}", counts(most as f64))
        })
    };
    let verdict = match holding.verdict {
        Verdict::TooMuch => format!(
            "more than this system allows. As threads {}; as async tasks {}. Next, raise:",
            at_most(0),
            at_most(1)
        ),
        Verdict::Much if holding.raise(0).is_some() => format!(
            "take async tasks, or raise a limit: as threads {}. Otherwise {both}. To raise it:",
            at_most(0)
        ),
        Verdict::Much => format!("take async tasks: {both}."),
        Verdict::Unclear => format!("it depends on what else needs the memory: {both}."),
        Verdict::Little => {
            let up_to = holding.up_to.unwrap_or(0);
            let limit = most(0).filter(|(_, most)| *most == up_to);
            let limit = limit.map_or(String::new(), |(limit, _)| {
                format!(", the most that {limit} allows (`switchcost limits` says how to raise it)")
            });
            let up_to = if limit.is_empty() { rounded(up_to as f64) } else { counts(up_to as f64) };
            format!("threads will do: {both}. That holds up to {up_to} {noun}{limit}.")
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
    let processes = match service.processes {
        1 => String::new(),
        processes => format!(" of {processes} processes"),
    };
    let line = format!(
        "{}: {} thread{}{processes}, {} CPUs in use, {} resident and {} of the kernel's ({seconds:.1} s{ended})",
        plain_line(&service.name),
        service.threads,
        plural(service.threads as usize),
        number(watched.used),
        bytes(service.resident),
        bytes(service.kernel),
    );
    wrapped(&line, 0, width(), out)?;
    let (named, others) = service.groups.split_at(service.groups.len().min(MOST_NAMES));
    let cpus = |ns: u64| number(ns as f64 / service.elapsed_ns as f64);
    let rows = named.iter().map(|group| {
        vec![
            plain_line(&group.name).into_owned(),
            group.threads.to_string(),
            rate(group.voluntary as f64 / seconds),
            rate(group.involuntary as f64 / seconds),
            cpus(group.cpu_ns),
        ]
    });
    let head = ["thread", "threads", "switches/s", "preempted/s", "CPUs"];
    Grid::new(head, rows.collect()).write_text(width(), out)?;
    if others.is_empty() {
        return Ok(());
    }
    let switches: u64 = others.iter().map(|group| group.voluntary).sum();
    writeln!(
        out,
        " and {} more name{}: {} switches/s, {} CPUs",
        others.len(),
        plural(others.len()),
        rate(switches as f64 / seconds),
        cpus(others.iter().map(|group| group.cpu_ns).sum())
    )
}

fn of_service(load: &Load, switching: &Switching, watched: &Watched) -> Vec<String> {
    let of_cpus = match load.cpus {
        1.0 => "the CPU".to_owned(),
        cpus => format!("the {} CPUs", number(cpus)),
    };
    let mark = |text: String| switching.each[0].grade.mark(&text);
    let of_its_time = format!("{} of its CPU time", mark(part(watched.of_its_time)));
    let of_its_cpus =
        format!("{} of {of_cpus} that it could use", mark(part(switching.share[0])));
    let is_idle = watched.used < load.cpus / 2.0;
    let verdict = match switching.verdict {
        _ if watched.seen < LEAST_SEEN => {
            "nothing can be said: most of its CPU time went to threads or processes that came and went between two \
             looks. Next: count their switches, `perf stat -e context-switches`."
                .to_owned()
        }
        Verdict::Little if watched.of_its_time[1] < LITTLE_OF_ITS_TIME => {
            format!("it does not matter: it takes {of_its_time}. Threads will do.")
        }
        Verdict::Little => format!("it does not matter: it takes {of_its_cpus}. Threads will do."),
        Verdict::Unclear | Verdict::TooMuch if is_idle => {
            format!("worth a look: it takes {of_its_time}. Next: watch it at its busiest.")
        }
        Verdict::Unclear | Verdict::TooMuch => format!(
            "worth a look: it takes {of_its_time}. Next: let it hand over less often, by larger batches, and watch it \
             again."
        ),
        Verdict::Much => format!(
            "your bottleneck: it takes {of_its_cpus}. Next: hand over less often, or try async tasks, whose as many \
             hand-overs take {} of a CPU.",
            switching.each[1].grade.mark(&range(switching.cpus[1], share))
        ),
    };
    let unwatched = unwatched(&watched.service);
    let whose = if unwatched.is_some() { "Switching of this alone" } else { "Switching" };
    let [threads, tasks] = switching.each.map(|cost| times(&cost, cost.cpu));
    let mut lines = vec![format!("{whose}: {verdict}")];
    lines.extend(unwatched);
    if watched.seen < MOST_SEEN && watched.seen >= LEAST_SEEN {
        lines.push(format!(
            "Threads or processes that came and went took {} of its CPU time: their switches are estimated by it.",
            percent(1.0 - watched.seen)
        ));
    }
    lines.push(format!(
        "Taken: {} switches/s, each a hand-over of {threads} of CPU time between threads; between tasks {tasks}.",
        rate(load.switches.unwrap_or(0.0))
    ));
    lines
}

/// Children that were not watched, and how to watch them.
fn unwatched(service: &Service) -> Option<String> {
    let children = &service.children;
    if children.is_empty() {
        let cpus = service.ended_children_ns as f64 / service.elapsed_ns as f64;
        return (cpus > 0.0).then(|| {
            format!(
                "Children that have ended took {} CPUs and were not watched: name its control group by --cgroup, or \
                 start it by `-- COMMAND`.",
                number(cpus)
            )
        });
    }
    let shown = children.iter().take(MOST_CHILDREN);
    let pids: Vec<String> = shown.map(|child| child.pid.to_string()).collect();
    let more = if children.len() > MOST_CHILDREN { ",..." } else { "" };
    Some(format!(
        "{} child{} of it {} not watched ({}): add `--pid {}{more}`, or name its control group by --cgroup.",
        children.len(),
        if children.len() == 1 { "" } else { "ren" },
        if children.len() == 1 { "is" } else { "are" },
        plain_line(&children[0].name),
        pids.join(","),
    ))
}

/// A share of what was used, which may be all of it.
fn part(shares: Range) -> String {
    match shares.map(|share| share > 0.995) {
        [true, _] => "all".to_owned(),
        [false, true] => format!("{} to all", share(shares[0])),
        [false, false] => range(shares, share),
    }
}

/// A load with two digits, rounded down: what threads will do must not grow.
fn rounded(load: f64) -> String {
    let unit = 10f64.powf(load.max(1.0).log10().floor() - 1.0);
    counts((load / unit).floor() * unit)
}

/// A number of events a second: one that is not 0 never looks so.
fn rate(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { number(rate) } else { counts(rate) }
}
