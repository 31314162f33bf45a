//! What a load costs here, as threads and as async tasks, and what that means. A load is so many switches and so many
//! tasks, or a service that was watched.

use ::limits::{LimitStatus, Limits};
use facts::Link;
use facts::service::Service;
use serde::Serialize;

use super::hand_over::{Cost, Range, Scheduler};
use super::limits::{self, Asked, LimitsReport, ProgramRow};
use crate::figures::grade::Grade;

/// Share of the CPUs, or of the memory, up to which threads will do.
pub(crate) const LITTLE: f64 = 0.05;

/// Share of a service's own CPU time up to which its switching does not matter.
pub(crate) const LITTLE_OF_ITS_TIME: f64 = 0.1;

/// Share of a service's CPU time that must have been seen thread by thread, or nothing is said of its switches.
pub(crate) const LEAST_SEEN: f64 = 0.5;

/// Share from which threads are too much.
pub(crate) const MUCH: f64 = 0.5;

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
    pub(crate) scheduler: Scheduler,
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
    /// A hand-over between threads and between tasks.
    pub(crate) each: [Cost; 2],
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

/// A service as a load.
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

    /// Those hand-overs, in words.
    pub(crate) fn hand_overs(&self) -> &'static str {
        match (self.link, self.scheduler) {
            (None, _) => "hand-overs",
            (Some(Link::Tcp), _) => "hand-overs over TCP",
            (Some(Link::Pipe), Scheduler::Multi) => "hand-overs over pipes",
            (Some(Link::Pipe), Scheduler::CurrentThread) => "hand-overs over pipes on one thread",
            (Some(Link::Memory), Scheduler::Multi) => "hand-overs in memory on several threads",
            (Some(Link::Memory), Scheduler::CurrentThread) => "hand-overs in memory",
        }
    }

    /// CPUs that its tasks can use: one runtime is no faster on more than were measured (docs/findings/cores.md).
    pub(crate) fn cpus_of_tasks(&self) -> f64 {
        match self.scheduler {
            Scheduler::CurrentThread => self.cpus.min(1.0),
            Scheduler::Multi => self.cpus.min(self.measured_cpus),
        }
    }

    /// Costs of its switches, if it has any.
    pub(crate) fn switching(&self, each: [Cost; 2]) -> Option<Switching> {
        let rate = self.switches?;
        let of_one = each.map(|cost| cost.cpu.map(|ns| ns / 1e9));
        let cpus = of_one.map(|cost| cost.map(|one| one * rate));
        let share =
            [cpus[0].map(|used| used / self.cpus), cpus[1].map(|used| used / self.cpus_of_tasks())];
        let is_too_much = share[1][0] > 1.0;
        let verdict = if is_too_much { Verdict::TooMuch } else { Verdict::of(share[0]) };
        let [low, high] = of_one[0];
        let turns = [LITTLE * self.cpus / high, MUCH * self.cpus / low];
        Some(Switching { each, cpus, share, verdict, turns })
    }

    /// What its tasks hold, if it has any, by what one of them holds and needs as a thread and as a task.
    pub(crate) fn holding(
        &self,
        (each, grade): ([Range; 2], Grade),
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
        Some((limits.find(|status| Some(&status.name) == row.binding.as_ref())?, row.most?))
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

    /// What a service's switches cost, by the costs of a hand-over.
    pub(crate) fn of_service(
        service: Service,
        each: [Cost; 2],
        measured_cpus: f64,
    ) -> Option<Self> {
        let (rate, seen) = switches(&service);
        let used = service.cpu_ns as f64 / service.elapsed_ns as f64;
        let load = Load {
            switches: Some(rate),
            tasks: None,
            are_connections: false,
            link: None,
            scheduler: Scheduler::Multi,
            cpus: service.cpus,
            measured_cpus,
        };
        let mut switching = load.switching(each)?;
        // What a switch costs elsewhere may be more than all that the service used.
        switching.cpus[0] = switching.cpus[0].map(|cpus| cpus.min(used));
        switching.share[0] = switching.cpus[0].map(|cpus| cpus / load.cpus);
        let of_its_time = switching.cpus[0].map(|cpus| if used > 0.0 { cpus / used } else { 0.0 });
        switching.verdict = if seen < LEAST_SEEN {
            Verdict::Unclear
        } else if of_its_time[1] < LITTLE_OF_ITS_TIME {
            Verdict::Little
        } else {
            Verdict::of(switching.share[0])
        };
        let watched = Some(Watched { service, used, seen, of_its_time });
        Some(Advice { load, switching: Some(switching), holding: None, watched })
    }
}

/// Voluntary switches a second, and the share of the CPU time that was seen thread by thread. What the other threads
/// did, which came and went between two looks, is taken to be like it.
fn switches(service: &Service) -> (f64, f64) {
    let counted: u64 = service.groups.iter().map(|group| group.voluntary).sum();
    let cpu: u64 = service.groups.iter().map(|group| group.cpu_ns).sum();
    let seen = if cpu == 0 { 1.0 } else { (cpu as f64 / service.cpu_ns as f64).min(1.0) };
    (counted as f64 / (service.elapsed_ns as f64 / 1e9) / seen, seen)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use contract::message::{Need, Needs};
    use facts::service::ThreadGroup;

    use super::*;

    const LOAD: Load = Load {
        switches: Some(1000.0),
        tasks: Some(1000),
        are_connections: false,
        link: Some(Link::Pipe),
        scheduler: Scheduler::Multi,
        cpus: 2.0,
        measured_cpus: 2.0,
    };

    fn each(threads: Range, tasks: Range) -> [Cost; 2] {
        [threads, tasks].map(|cpu| Cost { time: cpu, cpu, grade: Grade::Sure })
    }

    /// A service whose one group of threads switched so often in a second.
    fn service(voluntary: u64, cpu_ns: u64, cpus: f64) -> Service {
        let group = ThreadGroup { voluntary, cpu_ns, ..ThreadGroup::default() };
        Service {
            elapsed_ns: 1_000_000_000,
            groups: vec![group],
            cpu_ns,
            cpus,
            ..Service::default()
        }
    }

    #[test]
    fn a_share_of_the_cpus_decides() {
        for (rate, verdict) in [
            (9_000.0, Verdict::Little),
            (30_000.0, Verdict::Unclear),
            (200_000.0, Verdict::Much),
            (5_000_000.0, Verdict::TooMuch),
        ] {
            let load = Load { switches: Some(rate), ..LOAD };
            let switching = load.switching(each([5e3, 1e4], [500.0, 1e3])).unwrap();
            assert_eq!(switching.verdict, verdict, "{rate}");
            assert_eq!(switching.turns.map(f64::round), [1e4, 2e5]);
        }
    }

    #[test]
    fn one_runtime_has_no_more_cpus_than_were_measured() {
        let each = each([1e3, 1e3], [500.0, 500.0]);
        let load = Load { switches: Some(5e6), cpus: 64.0, ..LOAD };
        let verdict = |load: &Load| load.switching(each).unwrap().verdict;
        assert_eq!(verdict(&load), Verdict::TooMuch);
        assert_eq!(verdict(&Load { measured_cpus: 64.0, ..load }), Verdict::Unclear);
        let on_one = Load { scheduler: Scheduler::CurrentThread, measured_cpus: 64.0, ..load };
        assert_eq!(verdict(&on_one), Verdict::TooMuch);
    }

    #[test]
    fn no_load_is_advised_that_a_limit_refuses() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/sys/vm/max_map_count", "65530\n"),
            ("proc/self/maps", ""),
            (
                "proc/self/limits",
                "Max open files            1024                 20000                files\n",
            ),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let limits = Limits::read_under(root.path());
        let needs = |maps| Needs {
            maps: Need::new(0, maps),
            descriptors: Need::new(0, 1),
            ..Needs::default()
        };
        let asked = [("threads".to_owned(), Ok(needs(4))), ("tasks".to_owned(), Ok(needs(0)))];
        let held = |tasks| {
            let load = Load { tasks: Some(tasks), ..LOAD };
            load.holding(([[1e4; 2], [1e3; 2]], Grade::Sure), asked.clone(), &limits, Some(1 << 40))
        };
        for (tasks, verdict) in
            [(9_000, Verdict::Little), (17_000, Verdict::Much), (30_000, Verdict::TooMuch)]
        {
            let held = held(tasks).unwrap();
            assert_eq!((held.verdict, held.up_to), (verdict, Some(16_382)), "{tasks}");
            let (limit, most) = held.first_limit(0).unwrap();
            assert_eq!((limit.name.as_str(), most), ("vm.max_map_count", 16_382));
            assert_eq!(held.first_limit(1).unwrap().1, 19_997);
            assert_eq!(held.is_refused(), tasks > 16_382);
            assert_eq!(held.limits.raises.is_empty(), tasks < 16_382);
        }
    }

    #[test]
    fn a_service_is_judged_by_the_cpus_that_it_could_use() {
        for (switches, cpu_ns, cpus, verdict) in [
            // It does nothing but switch, on one CPU of many.
            (100_000, 1_000_000_000, 1.0, Verdict::Much),
            (100_000, 1_000_000_000, 4.0, Verdict::Unclear),
            // It sleeps, or computes.
            (0, 0, 1.0, Verdict::Little),
            (100, 500_000, 1.0, Verdict::Little),
            (5_000, 1_000_000_000, 1.0, Verdict::Little),
            (20_000, 1_000_000_000, 1.0, Verdict::Unclear),
        ] {
            let service = service(switches, cpu_ns, cpus);
            let advice = Advice::of_service(service, each([8e3, 1e4], [1e3, 1e3]), 2.0).unwrap();
            let (switching, watched) = (advice.switching.unwrap(), advice.watched.unwrap());
            assert_eq!(switching.verdict, verdict, "{switches} {cpus}");
            // No more than was used.
            assert!(switching.cpus[0][1] <= watched.used && watched.of_its_time[1] <= 1.0);
        }
    }

    #[test]
    fn what_came_and_went_counts_by_its_cpu_time() {
        let seen_of = |all| {
            let seen = service(30, 25, 1.0);
            switches(&Service { elapsed_ns: 2_000_000_000, cpu_ns: all, ..seen })
        };
        assert_eq!(seen_of(100), (60.0, 0.25));
        assert_eq!(seen_of(25), (15.0, 1.0));
        // The clocks of a process and of its threads are read one after the other.
        assert_eq!(seen_of(24), (15.0, 1.0));
        let unseen = Service { cpu_ns: 1_000_000_000, ..service(30, 25, 1.0) };
        let advice = Advice::of_service(unseen, each([1.0; 2], [1.0; 2]), 2.0).unwrap();
        assert_eq!(advice.switching.unwrap().verdict, Verdict::Unclear);
    }
}
