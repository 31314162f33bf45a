//! The plans that have a name: they are built in.

use anyhow::Context;

use super::sections::Plan;

/// A plan that is built in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Name, as `--plan` takes it.
    pub name: &'static str,
    /// Subject, in a line of the help.
    pub about: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The plan of a file in `plans`, and its line of the help.
macro_rules! built_in {
    ($name:literal, $about:literal) => {{
        let text = include_str!(concat!("../../plans/", $name, ".toml"));
        BuiltIn { name: $name, about: $about, text }
    }};
}

/// All of them, in the order of the help.
pub const BUILT_IN: &[BuiltIn] = &[
    built_in!("default", "a switch, a creation and memory at rest, for threads and async tasks"),
    built_in!(
        "why",
        "where the costs come from: placement, least costs, io_uring, processes, an idle runtime"
    ),
    built_in!(
        "placement",
        "a hand-over on one CPU, between SMT siblings, cores, caches and sockets, and unpinned"
    ),
    built_in!(
        "cores",
        "hand-overs per CPU with 1, 2, 4 ... chains at once, up to twice the CPUs, for threads, tasks and goroutines"
    ),
    built_in!("memory", "what tasks hold in memory, as slopes over their number"),
    built_in!(
        "links",
        "a hand-over over TCP, between tasks on one thread, and in memory on several"
    ),
    built_in!("findings", "the experiments behind docs/FINDINGS.md"),
    built_in!("peers", "threads, processes, async tasks and goroutines side by side"),
    built_in!(
        "languages",
        "threads and tasks in Rust, Go, Java, Node, Python and C++, as far as they are installed"
    ),
    built_in!("claims", "what well-known texts measured, as they measured it: docs/CLAIMS.md"),
    built_in!(
        "sleepers",
        "ten thousand to a million sleeping threads, tasks and goroutines; takes minutes, and needs root"
    ),
    built_in!(
        "blocking",
        "work that blocks in an async runtime: the cost of each strategy, to itself and to its neighbours"
    ),
    built_in!(
        "waiting",
        "what it takes to wait: signals, timers, select!, locks, wakes of threads, blocking"
    ),
    built_in!(
        "futex",
        "what a wake-up costs beside sleeping threads, by the slots of the futex table"
    ),
    built_in!(
        "load",
        "how late tasks start at 10 to 90 % load, on threads, Tokio and goroutines; takes ten minutes"
    ),
    built_in!(
        "tokio",
        "what a version of Tokio can change: timers, spawning, the blocking pool, sparse requests; for duel"
    ),
    built_in!("body", "HTTP bodies kept in memory or in files, by each strategy for what blocks"),
];

impl BuiltIn {
    /// The plan of that name.
    pub fn named(name: &str) -> Option<&'static BuiltIn> {
        BUILT_IN.iter().find(|plan| plan.name == name)
    }

    /// Reads it.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        Plan::parse(self.text).with_context(|| format!("the built-in plan '{}'", self.name))
    }
}

/// Reads the plan of that name.
fn read(name: &str) -> anyhow::Result<Plan> {
    BuiltIn::named(name).with_context(|| format!("there is no plan '{name}'"))?.plan()
}

impl Plan {
    /// The plan that runs when no other is named.
    pub fn built_in() -> anyhow::Result<Self> {
        read("default")
    }

    /// The plan of the memory that tasks hold.
    pub fn memory() -> anyhow::Result<Self> {
        read("memory")
    }
}
