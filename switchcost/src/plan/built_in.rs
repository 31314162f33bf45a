//! The plans that have a name: they are built in.

use anyhow::Context;

use super::Plan;

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

/// The plan that runs when no other is named.
pub(super) const DEFAULT: BuiltIn = BuiltIn {
    name: "default",
    about: "a switch, a creation and memory at rest, for threads and async tasks",
    text: include_str!("../../plans/default.toml"),
};

/// The plan of the memory that tasks hold.
pub(super) const MEMORY: BuiltIn = BuiltIn {
    name: "memory",
    about: "what tasks hold in memory, as slopes over their number",
    text: include_str!("../../plans/memory.toml"),
};

/// All of them, in the order of the help.
pub const BUILT_IN: &[BuiltIn] = &[
    DEFAULT,
    BuiltIn {
        name: "why",
        about: "where the costs come from: placement, least costs, io_uring, processes, an idle runtime",
        text: include_str!("../../plans/why.toml"),
    },
    BuiltIn {
        name: "placement",
        about: "a hand-over on one CPU, between SMT siblings, cores, caches and sockets, and unpinned",
        text: include_str!("../../plans/placement.toml"),
    },
    MEMORY,
    BuiltIn {
        name: "findings",
        about: "the experiments behind docs/FINDINGS.md",
        text: include_str!("../../plans/findings.toml"),
    },
    BuiltIn {
        name: "peers",
        about: "threads, processes, async tasks and goroutines side by side",
        text: include_str!("../../plans/peers.toml"),
    },
    BuiltIn {
        name: "languages",
        about: "threads and tasks in Rust, Go, Java, Node, Python and C++, as far as they are installed",
        text: include_str!("../../plans/languages.toml"),
    },
    BuiltIn {
        name: "claims",
        about: "what well-known texts measured, as they measured it: docs/CLAIMS.md",
        text: include_str!("../../plans/claims.toml"),
    },
    BuiltIn {
        name: "sleepers",
        about: "ten thousand to a million sleeping threads, tasks and goroutines; takes minutes, and needs root",
        text: include_str!("../../plans/sleepers.toml"),
    },
    BuiltIn {
        name: "blocking",
        about: "work that blocks in an async runtime: the cost of each strategy, to itself and to its neighbours",
        text: include_str!("../../plans/blocking.toml"),
    },
    BuiltIn {
        name: "body",
        about: "HTTP bodies kept in memory or in files, by each strategy for what blocks",
        text: include_str!("../../plans/body.toml"),
    },
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
