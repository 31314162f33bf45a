//! `[program.NAME]`: programs that are no crate of the workspace.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::BUILT_IN;
use super::check::ensure_printable;

/// Programs of a plan by their names.
pub type ProgramTables = BTreeMap<String, ProgramTable>;

/// How a program is started, and how it is built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramTable {
    /// Words that start it; flags follow. The first is a name (built by `build`, beside the runner
    /// or in PATH) or a path. In the others `{bin}` stands for the same as in `build`.
    pub run: Vec<String>,
    /// Words that build it, in the checkout's folder. `{bin}` stands for the folder of its release
    /// executables.
    #[serde(default)]
    pub build: Vec<String>,
    /// Tools that must be in PATH, such as `go`.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Environment variables that it is started with.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Words of a command that executes it, such as `["nice", "-n", "19"]`.
    #[serde(default)]
    pub wrap: Vec<String>,
}

impl ProgramTable {
    /// Checks the table of a plan.
    pub(super) fn check(&self, name: &str) -> anyhow::Result<()> {
        ensure_printable("a program's name", name)?;
        ensure!(
            !name.is_empty() && !name.contains('/'),
            "[program.'{name}']: a name has no '/', and is not empty"
        );
        let first = self.run.first();
        ensure!(
            first.is_some_and(|word| !word.is_empty()),
            "[program.{name}]: run: it names no program"
        );
        Ok(())
    }
}

/// Tables of all built-in plans, for commands that name a program without a plan.
pub fn built_in_tables() -> anyhow::Result<ProgramTables> {
    let mut all = ProgramTables::new();
    for built_in in BUILT_IN {
        let plan = built_in.plan().context("the tables of its programs")?;
        all.extend(plan.programs);
    }
    Ok(all)
}
