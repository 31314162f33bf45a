//! A load on two servers, and a running service, as text: a verdict, its figures, and what to do next.

use figures::grade::{Grade, Range};
use figures::number::{number, percent, short, thousands};
use figures::value::Form;
use host::units::{Span, counted};
use observe::service::{Counts, Service, ThreadGroup};
use record::Quantity;
use serde_json::json;

use super::cells::{cost, ratio};
use super::document::{Document, Section, sentences};
use super::grid::{ABSENT, Grid};
use super::report::{Report, Spreadsheet};
use crate::views::estimate::{EventLoop, LITTLE, Load, Loaded, MUCH};
use crate::views::service::{Prices, SwitchingVerdict, Watched};

/// Most names of threads in the table.
const MOST_NAMES: usize = 3;

/// What the servers are not.
const ECHO: &str = "Each server returns what it reads, by the thread or task that read it. A library and a handler add their \
                    own time and memory to either side (--work 50us): the difference stays, and the ratio shrinks. A pool \
                    that passes requests on pays for each hand-over too.";

/// A line for each figure of both servers.
const LOAD_COLUMNS: &[(&str, &str)] = &[
    ("row", "/name"),
    ("thread", "/thread/value"),
    ("thread_low", "/thread/interval/low"),
    ("thread_high", "/thread/interval/high"),
    ("task", "/task/value"),
    ("task_low", "/task/interval/low"),
    ("task_high", "/task/interval/high"),
    ("difference", "/difference/value"),
    ("difference_low", "/difference/interval/low"),
    ("difference_high", "/difference/interval/high"),
    ("ratio", "/quotient/value"),
    ("ratio_low", "/quotient/interval/low"),
    ("ratio_high", "/quotient/interval/high"),
    ("ratio_grade", "/quotient/grade"),
];

/// A line for the threads of each name, with counts of the whole time.
const SERVICE_COLUMNS: &[(&str, &str)] = &[
    ("thread", "/name"),
    ("threads", "/threads"),
    ("voluntary", "/voluntary"),
    ("involuntary", "/involuntary"),
    ("cpu_ns", "/cpu_ns"),
    ("waited_ns", "/waited_ns"),
    ("elapsed_ns", "/elapsed_ns"),
];

impl Report for Loaded {
    fn documents(&self) -> Vec<Document> {
        vec![load(self)]
    }

    fn spreadsheet(&self) -> Spreadsheet {
        let lines = self.rows.iter().map(|row| json!(row)).collect();
        Spreadsheet { columns: LOAD_COLUMNS, lines }
    }
}

impl Report for Watched {
    fn documents(&self) -> Vec<Document> {
        vec![service(self)]
    }

    fn spreadsheet(&self) -> Spreadsheet {
        let lines = self.service.groups.iter().map(|group| {
            let mut line = json!(group);
            line["elapsed_ns"] = json!(self.service.elapsed_ns);
            line
        });
        Spreadsheet { columns: SERVICE_COLUMNS, lines: lines.collect() }
    }
}

/// What a load cost two servers, and the verdict with its rule.
fn load(loaded: &Loaded) -> Document {
    let Load { rate, connections, work } = loaded.load;
    let working = match work {
        Span(0) => String::new(),
        work => format!(" after {work} of work"),
    };
    let title = format!(
        "{} requests/s over {} connections, answered{working} by two TCP echo servers on loopback:",
        counts(rate.into()),
        counts(connections.into())
    );
    if loaded.missing.iter().all(Option::is_some) {
        return Document { head: sentences([title, loaded.sentence()]), ..Document::default() };
    }
    let lines = loaded.rows.iter().map(|row| {
        let costs = [&row.thread, &row.task].map(|server| server.as_ref().map(cost));
        let difference = row.difference.as_ref().and_then(|more| more.show(Form::Interval).ok());
        let cells = costs.into_iter().chain([difference, row.quotient.as_ref().map(ratio)]);
        let cells = cells.map(|cell| cell.unwrap_or(ABSENT.to_owned()));
        [row.name.to_owned()].into_iter().chain(cells).collect()
    });
    let head = ["", "threads", "async tasks", "thread − task", "thread ÷ task"];
    let grid = Grid::new(head, lines.collect());
    let here = [
        loaded.cpus.map(|count| format!(" ({} of {})", number(LITTLE * count), cpus(count))),
        loaded
            .memory_size
            .map(|size| format!(" ({})", short(Quantity::Bytes, LITTLE * size as f64))),
    ];
    let [of_cpus, of_memory] = here.map(Option::unwrap_or_default);
    let rule = format!(
        "Rule, for the ends of the intervals: threads will do if they use at most {little} of the available CPUs{of_cpus} more than \
         async tasks, and hold at most {little} of the memory{of_memory}; take async tasks if threads use at least {little} of the \
         CPUs more, or hold at least {much} of the memory.",
        little = percent(LITTLE),
        much = percent(MUCH)
    );
    let machine = format!(
        "{}. Brackets: 95 % confidence intervals. ~ marks a disturbed figure.",
        loaded.machine
    );
    let event_loop = loaded.event_loop.as_ref().and_then(event_loop);
    let head = [Some(loaded.sentence()), loaded.failures()].into_iter().flatten();
    let lines = [event_loop, Some(ECHO.to_owned()), Some(rule), Some(machine)];
    Document {
        title: "What this load costs".to_owned(),
        doubts: sentences(loaded.doubts.iter().map(ToString::to_string)),
        head: sentences(head),
        sections: vec![Section::new(&title, grid, [])],
        foot: sentences(lines.into_iter().flatten()),
        ..Document::default()
    }
}

/// What a bare event loop takes, and what the two servers add to it.
fn event_loop(bare: &EventLoop) -> Option<String> {
    let adds =
        [&bare.task_adds, &bare.thread_adds].map(|more| more.as_ref()?.show(Form::Interval).ok());
    let [tasks, threads] = adds;
    Some(format!(
        "A bare event loop in one thread takes {} per request; async tasks add {} to it, and threads {}.",
        cost(&bare.request),
        tasks?,
        threads?
    ))
}

/// What was seen of a service, what its switches cost, and what to do next.
fn service(watched: &Watched) -> Document {
    let service = &watched.service;
    let title = format!(
        "{}: {} of {}, {:.1} s{}",
        service.name,
        counted(service.threads(), "thread"),
        counted(service.processes, "process"),
        service.elapsed_ns as f64 / 1e9,
        if service.has_ended { "; then it ended" } else { "" },
    );
    let mut lines = facts(watched);
    lines.extend(switching(watched));
    lines.extend_from_slice(&watched.remarks);
    Document {
        title: format!("What the switches of {} cost", service.name),
        sections: vec![Section::new(&title, threads(service), lines)],
        ..Document::default()
    }
}

/// A line for each of the most frequent names of threads, and one for the others.
fn threads(service: &Service) -> Grid {
    let (named, others) = service.groups.split_at(service.groups.len().min(MOST_NAMES));
    let mut lines = Vec::new();
    for group in named {
        lines.push(threads_line(service, group.name.clone(), std::slice::from_ref(group)));
    }
    if !others.is_empty() {
        lines.push(threads_line(service, counted(others.len() as u64, "more name"), others));
    }
    let head = ["thread", "threads", "voluntary/s", "preempted/s", "running", "waiting"];
    Grid::new(head, lines)
}

fn threads_line(service: &Service, name: String, groups: &[ThreadGroup]) -> Vec<String> {
    let seconds = service.elapsed_ns as f64 / 1e9;
    let threads: u64 = groups.iter().map(|group| group.threads).sum();
    let sums: [fn(&Counts) -> u64; 4] =
        [|c| c.voluntary, |c| c.involuntary, |c| c.cpu_ns, |c| c.waited_ns];
    let [voluntary, involuntary, cpu_ns, waited_ns] =
        sums.map(|part| groups.iter().map(|group| part(&group.counts)).sum::<u64>());
    vec![
        name,
        counts(threads as f64),
        rate(voluntary as f64 / seconds),
        rate(involuntary as f64 / seconds),
        number(service.busy(cpu_ns)),
        number(waited_ns as f64 / seconds / 1e9),
    ]
}

/// What is known about it, whatever a switch costs.
fn facts(Watched { service, seen, .. }: &Watched) -> Vec<String> {
    let seconds = service.elapsed_ns as f64 / 1e9;
    let mut lines = vec![format!(
        "On average, {} of its threads ran and {} waited for a CPU; it may use {}.",
        number(service.used()),
        number(service.seen().waited_ns as f64 / seconds / 1e9),
        cpus(service.cpus)
    )];
    let unseen = service.unseen() as f64 / seconds;
    if service.counted.is_some() && unseen >= 1.0 {
        lines.push(format!(
            "perf counted {} more switches/s, by threads that ended between two looks at the service.",
            rate(unseen)
        ));
    }
    if service.counted.is_none() && *seen < 0.99 {
        lines.push(format!(
            "{} of its CPU time went to threads that ended between two looks at the service, so their switches are not \
             known. A perf event can count them: run this as root, or set kernel.perf_event_paranoid to 1, and raise \
             `ulimit -n`.",
            percent(1.0 - seen)
        ));
    }
    lines
}

/// What its switches cost, and the verdict.
fn switching(watched: &Watched) -> Option<String> {
    let Some(prices) = &watched.prices else {
        return Some(
            "What a switch costs here is not known, and it was not measured beside the service: when the machine may be \
             busy for 15 s, run `switchcost --quick`, which leaves a file with the price in this folder."
                .to_owned(),
        );
    };
    let (share, verdict) = (watched.share?, watched.verdict?);
    let Prices { alone, one_cpu, any_cpu, grade, file } = prices;
    let (most, to) =
        if watched.service.cpus > 1.0 { (any_cpu, "to any CPU") } else { (one_cpu, "on one CPU") };
    let takes = format!(
        "{} of the service's CPU time, at most {} CPUs",
        Range { ends: share, grade: *grade }.show(percent),
        number(share[1] * watched.service.used())
    );
    let verdict = match verdict {
        SwitchingVerdict::Little => format!("Switching does not matter: {takes}."),
        SwitchingVerdict::Much => format!("Switching is worth a look: {takes}."),
        SwitchingVerdict::Unclear => format!(
            "Cannot tell whether switching matters: {takes}. Next: `perf record -g -p {0}` shows where the CPU time \
             goes, and `perf sched record -p {0}` shows who waits for whom.",
            watched.pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        ),
    };
    let disturbed =
        if *grade > Grade::Sure { " ~ marks figures from a disturbed machine." } else { "" };
    let [alone, most] = [alone, most].map(|ns| short(Quantity::Time, *ns));
    Some(format!(
        "{verdict} A switch costs from {alone} (two threads that yield on one CPU) to {most} (a hop through a pipe {to}), \
         according to {file}.{disturbed}"
    ))
}

/// A number of CPUs, which is a whole one unless there is a quota.
fn cpus(count: f64) -> String {
    match count {
        1.0 => "1 CPU".to_owned(),
        whole if whole.fract() == 0.0 => format!("{} CPUs", counts(whole)),
        cpus => format!("{} CPUs", number(cpus)),
    }
}

/// A whole number with commas.
fn counts(number: f64) -> String {
    thousands(&format!("{number:.0}"))
}

/// A number of events per second; a number above 0 never looks like 0.
fn rate(rate: f64) -> String {
    if rate > 0.0 && rate < 10.0 { number(rate) } else { counts(rate) }
}
