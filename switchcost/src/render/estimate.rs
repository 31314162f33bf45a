//! Advice for a load, as text.

use std::io::{self, Write};

use facts::{Link, Quantity};

use super::layout::{width, wrapped};
use super::{counts, share};
use crate::figures::number::{number, range, shown};
use crate::views::estimate::{Advice, Holding, LITTLE, Load, Switching, Turn, Verdict};
use crate::views::hand_over::Scheduler;

/// Prints the advice in paragraphs.
pub(crate) fn text(advice: &Advice, out: &mut impl Write) -> io::Result<()> {
    let load = &advice.load;
    let switching = advice.switching.as_ref().map(|switching| switches(load, switching));
    let holding = advice.holding.as_ref().map(|holding| tasks(load, holding));
    for paragraph in switching.into_iter().chain(holding) {
        writeln!(out)?;
        wrapped(&paragraph, 0, width(), out)?;
    }
    Ok(())
}

fn switches(load: &Load, Switching { each, cpus, turn }: &Switching) -> String {
    let link = match load.link {
        Link::Pipe => "pipes",
        Link::Tcp => "TCP (on the loopback: a network card's interrupts are not counted)",
        Link::Memory => "channels in memory",
    };
    let scheduler = match load.scheduler {
        Scheduler::CurrentThread => "on one thread",
        Scheduler::Multi => "on the multi-thread runtime",
    };
    let all = f64::from(load.cpus);
    let [threads, tasks] = cpus.map(|cpus| {
        let share = share_of(cpus.map(|cpus| cpus / all));
        format!("{} CPUs, {share} of {}", range(cpus, number), load.cpus)
    });
    let [as_threads, as_tasks] = each.map(|cost| range(cost.time, |ns| shown(Quantity::Time, ns)));
    format!(
        "{} switches/s over {link} take {threads} as threads; {tasks} as async tasks {scheduler}. Latency is \
         apart from that: a hand-over takes {as_threads} between threads, {as_tasks} between tasks. {}",
        counts(load.switches.unwrap_or(0.0)),
        turn_of(turn, "switches/s", "these CPUs")
    )
}

fn tasks(load: &Load, Holding { bytes, turn }: &Holding) -> String {
    let [threads, tasks] = bytes.map(|bytes| range(bytes, |b| shown(Quantity::Bytes, b)));
    let turn = match turn {
        Some(turn) => turn_of(turn, "tasks", "the memory"),
        None => "How much memory this machine has is unknown.".to_owned(),
    };
    format!(
        "{} that wait hold {threads} as threads, {tasks} as async tasks, with stacks and futures as small as \
         here; what a connection or its buffers hold is the same for both. {turn}",
        counts(load.tasks.unwrap_or(0) as f64) + " tasks"
    )
}

/// The verdict, and where it would be another.
fn turn_of(turn: &Turn, unit: &str, what: &str) -> String {
    let verdict = match turn.verdict {
        Verdict::Either => "Threads will do.",
        Verdict::Measure => "It may decide: measure your own program.",
        Verdict::Tasks => "Take tasks.",
    };
    format!(
        "{verdict} Threads take under {} of {what} up to {} {unit}, and more than all from {} on, tasks from {}.",
        share(LITTLE),
        rounded(turn.little),
        rounded(turn.all),
        rounded(turn.all_of_tasks)
    )
}

fn share_of(shares: [f64; 2]) -> String {
    range(shares, share)
}

/// A load with two digits.
fn rounded(load: f64) -> String {
    let unit = 10f64.powf(load.max(1.0).log10().floor() - 1.0);
    counts((load / unit).round() * unit)
}
