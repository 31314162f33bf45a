//! `[program.NAME]`: programs that are no crate of the workspace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;

/// How a program is started, and how it is built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramTable {
    /// Words that start it; flags follow. The first is a name (built by `build`, beside the runner
    /// or in PATH) or a path. In the others `{bin}` stands for the same as in `build`.
    pub run: Vec<String>,
    /// Words that build it. `{bin}` stands for the folder of the checkout's release executables.
    #[serde(default)]
    pub build: Vec<String>,
    /// Tools that must be in PATH, such as `go`.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Folder of the plan that has the table: there it is built and started. The checkout, if it is built in.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
}

impl ProgramTable {
    /// Why it cannot be started: its plan names a path that is not there, and builds nothing.
    pub(super) fn fault(&self) -> Option<String> {
        let word = self.run.first().filter(|word| word.contains('/') && self.build.is_empty())?;
        let path = self.folder.as_ref()?.join(word);
        (!path.is_file()).then(|| format!("there is no program {}", path.display()))
    }
}

/// Programs that every plan knows, and each command that names a program.
pub fn built_in_tables() -> anyhow::Result<BTreeMap<String, ProgramTable>> {
    toml::from_str(include_str!("../../plans/programs.toml")).context("the tables of programs")
}
