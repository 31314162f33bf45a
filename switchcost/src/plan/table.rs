//! `[program.NAME]`: programs that are no crate of the workspace.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

/// How a program is started, and how it is built.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
}

/// Programs that every plan knows, and each command that names a program.
pub fn built_in_tables() -> anyhow::Result<BTreeMap<String, ProgramTable>> {
    toml::from_str(include_str!("../../plans/programs.toml")).context("the tables of programs")
}
