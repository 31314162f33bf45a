//! What the switches of a running service cost, as text.

use std::io::{self, Write};

use facts::Quantity;

use super::layout::{width, wrapped};
use super::{Grid, counts, share};
use crate::figures::number::{number, percent, range, short, shown};
use crate::system::console::plain_line;
use crate::views::service::{LITTLE, LITTLE_OF_MACHINE, MUCH, ServiceCost, ServiceVerdict};

/// Share of the CPU time that must have been seen thread by thread, or it is said.
const MOST_SEEN: f64 = 0.95;

/// Most names of threads in the table.
const MOST_NAMES: usize = 4;

/// Prints the costs; `by` names the results that they are made of.
pub(crate) fn text(cost: &ServiceCost, by: &str, out: &mut impl Write) -> io::Result<()> {
    let service = &cost.service;
    let seconds = service.elapsed_ns as f64 / 1e9;
    let bytes =
        |bytes: Option<u64>| bytes.map_or("?".to_owned(), |b| short(Quantity::Bytes, b as f64));
    let s = if service.threads == 1 { "" } else { "s" };
    let ended = if service.has_ended { "; it has ended" } else { "" };
    writeln!(
        out,
        "{}: {} thread{s}, {} CPUs in use, {} resident and {} of the kernel's ({seconds:.1} s{ended})",
        plain_line(&service.name),
        service.threads,
        number(cost.cpus),
        bytes(service.resident),
        bytes(service.kernel),
    )?;
    let groups = service.groups.iter().take(MOST_NAMES).map(|group| {
        vec![
            plain_line(&group.name).into_owned(),
            group.threads.to_string(),
            counts(group.voluntary as f64 / seconds),
            counts(group.involuntary as f64 / seconds),
            number(group.cpu_ns as f64 / service.elapsed_ns as f64),
        ]
    });
    let head = ["thread", "threads", "switches/s", "preempted/s", "CPUs"];
    Grid::new(head, groups.collect()).write_text(width(), out)?;
    let [threads, tasks] = cost.per_hop.map(|ns| range(ns, |ns| shown(Quantity::Time, ns)));
    let [switching, as_tasks] = cost.switching.map(|cpus| range(cpus, share));
    let mut lines = vec![
        format!(
            "By {by} a hand-over between threads takes {threads} of CPU time here, between tasks {tasks}."
        ),
        format!(
            "{} switches/s take {switching} of a CPU: {} of its CPU time, {} of this machine. As tasks: {as_tasks} of a CPU.",
            counts(cost.switches),
            range(cost.of_its_time, share),
            range(cost.of_machine, share),
        ),
    ];
    if let Some(memory) = cost.memory {
        let [threads, tasks] = memory.map(|bytes| range(bytes, |b| shown(Quantity::Bytes, b)));
        lines.push(format!(
            "{} thread{s} hold{} at least {threads}; as many tasks {tasks}.",
            service.threads,
            if service.threads == 1 { "s" } else { "" }
        ));
    }
    if cost.seen < MOST_SEEN {
        lines.push(format!(
            "Threads that came and went took {} of its CPU time: their switches are estimated by it.",
            percent(1.0 - cost.seen)
        ));
    }
    lines.push(match cost.verdict {
        ServiceVerdict::DoesNotMatter => format!(
            "Switching does not matter here: it takes under {} of the service's CPU time, or under {} of the machine.",
            share(LITTLE),
            share(LITTLE_OF_MACHINE)
        ),
        ServiceVerdict::WorthALook => "Switching is worth a look.".to_owned(),
        ServiceVerdict::Bottleneck => format!(
            "Switching is the bottleneck: it takes over {} of the service's CPU time, and the machine is busy.",
            share(MUCH)
        ),
    });
    lines.push(
        "Assumed: each voluntary switch is one hand-over as in the answer, with warm caches and its wake-up.".to_owned(),
    );
    for line in lines {
        wrapped(&line, 0, width(), out)?;
    }
    Ok(())
}
