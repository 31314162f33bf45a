//! `switchcost completions`: what a shell or man(1) needs to know of the command line.

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Command, ValueEnum};
use clap_complete::Shell;

use crate::system::console;

/// The shells, and man(1).
pub(crate) fn kinds() -> PossibleValuesParser {
    let shells = Shell::value_variants().iter().filter_map(Shell::to_possible_value);
    shells.chain([PossibleValue::new("man").help("a manual page")]).into()
}

pub(crate) fn main(kind: &str, mut command: Command) -> anyhow::Result<()> {
    console::print(|out| match kind.parse::<Shell>() {
        Ok(shell) => {
            clap_complete::generate(shell, &mut command, "switchcost", out);
            Ok(())
        }
        Err(_) => clap_mangen::Man::new(command).render(out),
    })
    .context("cannot print the completions")
}
