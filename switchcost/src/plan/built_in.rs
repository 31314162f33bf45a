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

/// All of them, in the order of the help; the first is `default`.
pub const BUILT_IN: &[BuiltIn] = &[
    built_in!(
        "default",
        "what threads and async tasks cost: to switch to, to create, to keep in memory"
    ),
    built_in!(
        "why",
        "where the costs come from: placement, lower bounds, io_uring, processes, an idle runtime"
    ),
    built_in!(
        "placement",
        "a hop on one CPU, between SMT siblings, cores, caches and sockets, and unpinned"
    ),
    built_in!(
        "cores",
        "hops per second and CPU with 1, 2, 4 ... chains at once, for threads, async tasks and goroutines"
    ),
    built_in!("memory", "memory per thread and per async task, as slopes over their number"),
    built_in!("scale", "more and more tasks, until a limit stops each program"),
    built_in!(
        "links",
        "a hop over TCP, between async tasks on one thread, and in memory on several threads"
    ),
    built_in!("peers", "threads, processes, async tasks and goroutines side by side"),
    built_in!(
        "languages",
        "threads and async tasks in Rust, Go, Java, Node, Python and C++, as far as these are installed"
    ),
    built_in!(
        "claims",
        "what well-known texts measured, in the way that they measured it: docs/CLAIMS.md"
    ),
    built_in!(
        "sleepers",
        "ten thousand to a million sleeping threads, async tasks and goroutines; takes minutes and needs root"
    ),
    built_in!(
        "blocking",
        "blocking work in an async runtime: what each strategy costs, and how it delays other tasks"
    ),
    built_in!(
        "waiting",
        "what it costs to wait: for a signal, a timer, one of several events, a lock, a thread, blocking work"
    ),
    built_in!(
        "futex",
        "what it costs to wake a thread while others sleep, by the size of the futex table"
    ),
    built_in!(
        "load",
        "a server's CPU time per request, from 100 to 50,000 requests/s, with threads, Tokio and goroutines; takes 15 minutes"
    ),
    built_in!(
        "body",
        "HTTP bodies kept in memory or in files, with each strategy for blocking work"
    ),
    built_in!(
        "tokio",
        "what a version of Tokio can change: timers, spawning, the blocking pool, sparse requests; for duel"
    ),
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
