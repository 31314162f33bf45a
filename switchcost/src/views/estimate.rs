//! What a load costs here, as threads and as async tasks, and what that means. A load is so many switches and so many
//! tasks, or those of a service that was watched.

use ::limits::{LimitStatus, Limits};
use contract::message::Runtime;
use facts::service::Service;
use facts::{Link, Metric, Record};
use serde::Serialize;
use stats::Estimate;

use super::limits::{self, Asked, LimitsReport, ProgramRow};
use crate::figures::grade::{Grade, Graded};
use crate::figures::{CONFIDENCE, Figure, Figures};

/// Share of the CPUs, or of the memory, up to which threads will do.
const LITTLE: f64 = 0.05;

/// Share of a service's own CPU time up to which its switching does not matter.
const LITTLE_OF_ITS_TIME: f64 = 0.1;

/// Share of a service's CPU time that must have been seen thread by thread, or nothing is said of its switches.
pub(crate) const LEAST_SEEN: f64 = 0.5;

/// Share from which threads are too much.
const MUCH: f64 = 0.5;

/// A range: the least and the greatest.
pub(crate) type Range = [f64; 2];

/// What a thread costs and what a task costs, from the least of any placement to the greatest, intervals included, and
/// the worth of the worst figure.
pub(crate) type Costs = ([Range; 2], Grade);

/// A load, and where it runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Load {
    /// Switches a second.
    pub(crate) switches: Option<f64>,
    /// Tasks that are there at once.
    pub(crate) tasks: Option<u64>,
    /// True if each of them has a connection.
    pub(crate) are_connections: bool,
    /// `None` of a service, whose links nobody knows.
    pub(crate) link: Option<Link>,
    /// CPUs that it may use.
    pub(crate) cpus: f64,
    /// CPUs of the machine that the figures are of.
    pub(crate) measured_cpus: f64,
}

/// A load's costs, with what they mean.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Advice {
    pub(crate) load: Load,
    pub(crate) switching: Option<Switching>,
    pub(crate) holding: Option<Holding>,
    /// The service that the load is of.
    pub(crate) watched: Option<Watched>,
}

/// What switches cost, as threads and as tasks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Switching {
    /// CPU time of a hand-over between threads and between tasks, user and system, in ns.
    pub(crate) each: [Range; 2],
    /// Worth of the worst of the costs.
    pub(crate) grade: Grade,
    /// CPUs that all of them take; those of a service's threads are no more than it used.
    pub(crate) cpus: [Range; 2],
    /// Share of the CPUs that its threads may use, and of those that its tasks can.
    pub(crate) share: [Range; 2],
    pub(crate) verdict: Verdict,
    /// Switches a second up to which threads will do, and from which they are too much.
    pub(crate) turns: Range,
}

/// What waiting tasks hold, as threads and as tasks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Holding {
    /// Bytes.
    pub(crate) bytes: [Range; 2],
    /// Worth of the worst of the sizes.
    pub(crate) grade: Grade,
    /// Bytes of the machine's memory; `None` if it is unknown.
    pub(crate) memory: Option<u64>,
    pub(crate) verdict: Verdict,
    /// Tasks up to which threads will do, within every limit.
    pub(crate) up_to: Option<u64>,
    /// Limits of this system, as threads and as tasks.
    pub(crate) limits: LimitsReport,
}

/// A service that was watched.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Watched {
    pub(crate) service: Service,
    /// CPUs in use.
    pub(crate) used: f64,
    /// Share of its CPU time that threads which were seen twice account for.
    pub(crate) seen: f64,
    /// Share of its CPU time that its switches take.
    pub(crate) of_its_time: Range,
}

/// How much a load is to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Threads will do.
    Little,
    /// It depends on what else there is.
    Unclear,
    /// Tasks are worth it.
    Much,
    /// Tasks as well are more than there is.
    TooMuch,
}

/// True if tasks of this runtime have a worker for each CPU, as Tokio's have by default.
pub(crate) fn is_usual(runtime: &Runtime) -> bool {
    runtime.flavor != "current-thread"
}

/// CPU time of a hand-over between threads, and between tasks, over these links; `None` if records lack one of them.
pub(crate) fn costs(records: &[Record], links: &[Link]) -> Option<Costs> {
    let figures = Figures::of(records);
    let cost = |link: Link, is_task: bool| {
        let hops = figures.iter().filter(|figure| {
            let runtime = figure.runs.whole.first().and_then(|first| first.runtime.as_ref());
            *figure.metric() == Metric::Hop
                && figure.runs.place.case.link == Some(link)
                && runtime.is_some() == is_task
                && runtime.is_none_or(is_usual)
        });
        hops.filter_map(cpu_time).reduce(Graded::joined)
    };
    let threads: Option<Vec<_>> = links.iter().map(|link| cost(*link, false)).collect();
    let threads = threads?.into_iter().reduce(Graded::joined)?;
    // Of several links tasks need one: the usual plan has each scheduler over one of them.
    let tasks = links.iter().filter_map(|link| cost(*link, true)).reduce(Graded::joined)?;
    Some(([threads.estimate, tasks.estimate], threads.grade.max(tasks.grade)))
}

/// CPU time of a hop, in ns, if its program ran as it does by default.
fn cpu_time(figure: &Figure<'_>) -> Option<Graded<Range>> {
    let first = figure.runs.whole.first()?;
    let is_plain = first.policy.is_none() && first.setting.is_none() && first.tokens == 1;
    let is_free = first.cpus.is_none() || first.cpu_count() == Some(1);
    if !is_plain || !is_free || figure.key.x.is_some() {
        return None;
    }
    let each = figure.runs.whole.iter().map(|record| {
        let usage = record.usage?;
        Some((usage.user_ns + usage.system_ns) as f64 / record.timed()?.0 as f64)
    });
    let mean = Estimate::geometric_mean(&each.collect::<Option<Vec<_>>>()?, CONFIDENCE)?;
    let range = mean.interval.map_or([mean.value; 2], |interval| [interval.low, interval.high]);
    Some(Graded { estimate: range, grade: figure.grade })
}

impl Verdict {
    /// By the share of what there is that threads take.
    fn of(share: Range) -> Self {
        match share {
            [_, high] if high < LITTLE => Verdict::Little,
            [low, _] if low >= MUCH => Verdict::Much,
            _ => Verdict::Unclear,
        }
    }
}

impl Load {
    /// Links that its hand-overs may be over.
    pub(crate) fn links(&self) -> &[Link] {
        self.link.as_ref().map_or(&[Link::Pipe, Link::Memory], std::slice::from_ref)
    }

    /// The links that it names, in words.
    pub(crate) fn over(&self) -> &'static str {
        match self.link {
            Some(Link::Tcp) => "TCP (loopback)",
            Some(Link::Memory) => "channels in memory",
            Some(Link::Pipe) => "pipes",
            None => "pipes and in memory",
        }
    }

    /// CPUs that its tasks can use: one runtime is no faster on more than were measured (docs/findings/cores.md).
    pub(crate) fn cpus_of_tasks(&self) -> f64 {
        self.cpus.min(self.measured_cpus)
    }

    /// Costs of its switches, if it has any. They may be more elsewhere than all that a service used.
    fn switching(&self, (each, grade): Costs, most: f64) -> Option<Switching> {
        let rate = self.switches?;
        let of_one = each.map(|cost| cost.map(|ns| ns / 1e9));
        let [threads, tasks] = of_one.map(|cost| cost.map(|one| one * rate));
        let cpus = [threads.map(|used| used.min(most)), tasks];
        let share =
            [cpus[0].map(|used| used / self.cpus), cpus[1].map(|used| used / self.cpus_of_tasks())];
        let is_too_much = share[1][0] > 1.0;
        let verdict = if is_too_much { Verdict::TooMuch } else { Verdict::of(share[0]) };
        let [low, high] = of_one[0];
        let turns = [LITTLE * self.cpus / high, MUCH * self.cpus / low];
        Some(Switching { each, grade, cpus, share, verdict, turns })
    }

    /// What its tasks hold, if it has any, by what one of them holds and needs as a thread and as a task.
    pub(crate) fn holding(
        &self,
        (each, grade): Costs,
        needs: [Asked; 2],
        limits: &Limits,
        memory: Option<u64>,
    ) -> Option<Holding> {
        let tasks = self.tasks?;
        let limits = limits::check(limits, &needs, Some(tasks));
        let fits = |row: &ProgramRow| row.fits != Some(false);
        let share = memory.map(|all| each[0].map(|one| one * tasks as f64 / all as f64));
        let verdict = match (fits(&limits.programs[0]), fits(&limits.programs[1])) {
            (_, false) => Verdict::TooMuch,
            (false, true) => Verdict::Much,
            (true, true) => share.map_or(Verdict::Unclear, Verdict::of),
        };
        let little = memory.map(|all| (LITTLE * all as f64 / each[0][1]) as u64);
        let up_to = little.into_iter().chain(limits.programs[0].most).min();
        let bytes = each.map(|range| range.map(|one| one * tasks as f64));
        Some(Holding { bytes, grade, memory, verdict, up_to, limits })
    }
}

impl Holding {
    /// The first limit that threads (0) or tasks (1) meet, with the most that it allows.
    pub(crate) fn first_limit(&self, kind: usize) -> Option<(&LimitStatus, u64)> {
        let row = &self.limits.programs[kind];
        let mut limits = self.limits.limits.iter().map(|row| &row.status);
        Some((limits.find(|status| row.binding == Some(status.to_string()))?, row.most?))
    }

    /// True if threads would fit if limits were raised.
    pub(crate) fn is_refused(&self) -> bool {
        self.limits.programs[0].fits == Some(false)
    }
}

impl Advice {
    /// Verdict on switches and tasks together: what the one that asks for more asks for; `None` if there is one alone.
    pub(crate) fn overall(&self) -> Option<Verdict> {
        Some(self.switching.as_ref()?.verdict.max(self.holding.as_ref()?.verdict))
    }

    /// What a load costs, by the costs of a hand-over and what its tasks hold.
    pub(crate) fn of_load(load: Load, each: Option<Costs>, holding: Option<Holding>) -> Self {
        let switching = each.and_then(|each| load.switching(each, f64::INFINITY));
        Advice { load, switching, holding, watched: None }
    }

    /// What the switches of a service cost. Those of threads that came and went between two looks are taken to be like
    /// the others.
    pub(crate) fn of_service(load: Load, each: Costs, service: Service) -> Self {
        let seconds = service.elapsed_ns as f64 / 1e9;
        let cpu: u64 = service.groups.iter().map(|group| group.cpu_ns).sum();
        let seen = if cpu == 0 { 1.0 } else { (cpu as f64 / service.cpu_ns as f64).min(1.0) };
        let used = service.cpu_ns as f64 / service.elapsed_ns as f64;
        let counted: u64 = service.groups.iter().map(|group| group.voluntary).sum();
        let switches = Some(counted as f64 / seconds / seen);
        let load = Load { switches, cpus: service.cpus, ..load };
        let mut switching = load.switching(each, used);
        let mut of_its_time = [0.0; 2];
        if let Some(switching) = &mut switching {
            if used > 0.0 {
                of_its_time = switching.cpus[0].map(|cpus| cpus / used);
            }
            switching.verdict = match of_its_time {
                _ if seen < LEAST_SEEN => Verdict::Unclear,
                [_, high] if high < LITTLE_OF_ITS_TIME => Verdict::Little,
                _ => Verdict::of(switching.share[0]),
            };
        }
        let watched = Some(Watched { service, used, seen, of_its_time });
        Advice { load, switching, holding: None, watched }
    }
}

#[cfg(test)]
mod tests;
