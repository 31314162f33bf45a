//! Looks at the machine between slices: the speed of the CPUs, and who had their time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use observe::{affinity, interference, speed, usage};
use record::{Account, Probe, Slice};

/// Shortest window that shows the CPU time of others: the kernel counts in ticks of 10 ms.
const WINDOW: Duration = Duration::from_millis(250);

/// Most CPUs that are probed for a slice. If there are more, so many are drawn for each slice.
pub(crate) const MOST_PROBED: usize = 4;

/// The machine at one moment between two slices.
#[derive(Clone)]
pub(crate) struct Look {
    at: Instant,
    times: BTreeMap<u32, Account>,
    /// CPU time of the runner, in ns.
    runner_ns: u64,
    probes: BTreeMap<u32, u32>,
    /// Interrupts between CPUs so far, if they are wanted and known.
    interrupts: Option<u64>,
    counts_interrupts: bool,
}

/// Observer of a group of sessions.
pub(crate) struct Watch {
    /// CPUs that the runner itself may use; none if that is not known.
    home: Vec<u32>,
    cpus: BTreeSet<u32>,
    window: Option<Look>,
    /// CPU time of the programs in it, in ns.
    programs_ns: u64,
    /// Its slices: session and number, and the share of its CPUs that neither it nor the runner used, in parts per
    /// thousand.
    open: Vec<((usize, usize), u32)>,
    /// CPU time of all windows so far.
    pub(crate) account: Option<Account>,
}

impl Look {
    /// True if these CPUs were probed, and the interrupts between CPUs counted if they are wanted.
    pub(crate) fn covers(&self, cpus: &[u32], interrupts: bool) -> bool {
        cpus.iter().all(|cpu| self.probes.contains_key(cpu))
            && (self.counts_interrupts || !interrupts)
    }

    /// Interrupts between CPUs since an earlier look; `None` unless both have counted them.
    pub(crate) fn interrupts_since(&self, before: &Look) -> Option<u64> {
        self.interrupts?.checked_sub(before.interrupts?)
    }
}

impl Watch {
    /// An observer of these CPUs.
    pub(crate) fn new(cpus: impl IntoIterator<Item = u32>) -> Self {
        Watch {
            home: affinity::allowed().unwrap_or_default(),
            cpus: cpus.into_iter().collect(),
            window: None,
            programs_ns: 0,
            open: Vec::new(),
            account: None,
        }
    }

    /// Looks at the machine, and probes these CPUs.
    pub(crate) fn look(&self, cpus: &[u32], interrupts: bool) -> Look {
        let probes = cpus.iter().filter_map(|&cpu| Some((cpu, probe_on(cpu)?))).collect();
        // The runner itself may be anywhere: only the probes are bound.
        let _ = affinity::restrict(&self.home);
        Look {
            at: Instant::now(),
            times: interference::cpu_times(),
            runner_ns: usage::cpu_time(0).unwrap_or(0),
            probes,
            interrupts: interrupts.then(interference::interrupts).flatten(),
            counts_interrupts: interrupts,
        }
    }

    /// What the machine did in a slice on these CPUs: its facts but for the iterations. `used` is the CPU time of the
    /// program in ns; `place` finds the slice again.
    pub(crate) fn slice(
        &mut self,
        turn: u32,
        (before, after): (&Look, &Look),
        cpus: &[u32],
        used: Option<u64>,
        place: (usize, usize),
    ) -> Slice {
        let window = after.at.duration_since(before.at);
        let stolen = cpus.iter().map(|cpu| {
            let [then, now] = [before, after].map(|look| look.times.get(cpu));
            Some(now?.stolen.saturating_sub(then?.stolen))
        });
        let probes = after.probes.iter().filter(|(cpu, _)| cpus.contains(cpu));
        let probes = probes.filter_map(|(&cpu, &now)| {
            Some(Probe { cpu, before: *before.probes.get(&cpu)?, after: now })
        });
        let slice = Slice {
            turn,
            window: window.as_micros() as u64,
            stolen: stolen.sum::<Option<u64>>().map(|ns| ns / 1000),
            probes: probes.collect(),
            ..Slice::default()
        };
        self.programs_ns += used.unwrap_or(0);
        let known = used.unwrap_or(0) + after.runner_ns.saturating_sub(before.runner_ns);
        // Idle time, stolen time and that of others, of its own CPUs; unknown for a program that cannot be
        // watched.
        let available = window.as_nanos() as u64 * cpus.len().max(1) as u64;
        let rest = available.saturating_sub(known) * 1000 / available.max(1);
        self.open.push((place, if used.is_some() { rest as u32 } else { 1000 }));
        self.window.get_or_insert_with(|| before.clone());
        slice
    }

    /// Counts CPU time of a measured program outside its slices, in ns.
    pub(crate) fn add_own(&mut self, used: Option<u64>) {
        if self.window.is_some() {
            self.programs_ns += used.unwrap_or(0);
        }
    }

    /// Closes the window that is open if it is long enough: each slice of it with the share of the CPU time that
    /// others used, in parts per thousand.
    pub(crate) fn close(&mut self, now: &Look) -> Vec<((usize, usize), u32)> {
        let Some(then) = &self.window else { return Vec::new() };
        let wall = now.at.duration_since(then.at);
        if wall < WINDOW {
            return Vec::new();
        }
        let mut closed = Vec::new();
        let times: Option<Vec<(&Account, &Account)>> =
            self.cpus.iter().map(|cpu| Some((then.times.get(cpu)?, now.times.get(cpu)?))).collect();
        if let Some(times) = times {
            let account = Account {
                all: wall.as_nanos() as u64 * times.len() as u64,
                idle: growth(&times, |cpu| cpu.idle),
                busy: growth(&times, |cpu| cpu.busy),
                stolen: growth(&times, |cpu| cpu.stolen),
                own: self.programs_ns + now.runner_ns.saturating_sub(then.runner_ns),
            };
            let others = account.busy.saturating_sub(account.own) * 1000 / account.all.max(1);
            // CPU time that the program used itself was not used by others.
            let others = others as u32;
            closed = self.open.iter().map(|&(place, rest)| (place, rest.min(others))).collect();
            self.account = Some(self.account.map_or(account, |sum| sum.plus(account)));
        }
        self.window = Some(now.clone());
        self.programs_ns = 0;
        self.open.clear();
        closed
    }
}

/// Probes the speed of a CPU; `None` if this process may not use it.
fn probe_on(cpu: u32) -> Option<u32> {
    affinity::restrict(&[cpu]).ok()?;
    Some(speed::probe())
}

/// What a part of the account has grown by, on all CPUs together.
fn growth(times: &[(&Account, &Account)], part: fn(&Account) -> u64) -> u64 {
    times.iter().map(|(then, now)| part(now).saturating_sub(part(then))).sum()
}
