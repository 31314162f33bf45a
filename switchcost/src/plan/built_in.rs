//! The plans that have a name: they are built in.

use anyhow::Context;

use super::sections::Plan;

/// A plan that is built in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Name, as `--plan` takes it.
    pub name: &'static str,
    pub text: &'static str,
}

/// The plans of these files in `plans`.
macro_rules! built_in {
    ($($name:literal),*) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../../plans/", $name, ".toml")) }),*]
    };
}

/// All of them, in the order of the help; the first is `default`.
pub const BUILT_IN: &[BuiltIn] = built_in![
    "default",
    "why",
    "placement",
    "cores",
    "memory",
    "scale",
    "links",
    "peers",
    "languages",
    "claims",
    "sleepers",
    "blocking",
    "waiting",
    "timers",
    "fan-out",
    "idle",
    "burst",
    "quota",
    "futex",
    "load",
    "body",
    "tokio"
];

impl BuiltIn {
    /// The plan of that name.
    pub fn named(name: &str) -> Option<&'static BuiltIn> {
        BUILT_IN.iter().find(|plan| plan.name == name)
    }

    /// Question that it answers, and what it does not show, for the help.
    pub fn help(&self) -> String {
        let plan = self.plan().unwrap_or_default();
        let note = plan.note().map(|note| format!(" {note}"));
        plan.question.unwrap_or_default() + &note.unwrap_or_default()
    }

    /// Reads it.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        Plan::parse(self.text).with_context(|| format!("the built-in plan '{}'", self.name))
    }
}
