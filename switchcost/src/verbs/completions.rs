//! `switchcost completions`: what a shell or man(1) needs to know of the command line.

use anyhow::Context;
use clap::builder::PossibleValue;
use clap::{Command, ValueEnum};
use clap_complete::Shell;

use crate::system::console;

/// What to print.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Shell(Shell),
    Man,
}

impl ValueEnum for Kind {
    fn value_variants<'a>() -> &'a [Self] {
        use Shell::{Bash, Elvish, Fish, PowerShell, Zsh};
        const ALL: [Kind; 6] = [
            Kind::Shell(Bash),
            Kind::Shell(Elvish),
            Kind::Shell(Fish),
            Kind::Shell(PowerShell),
            Kind::Shell(Zsh),
            Kind::Man,
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Kind::Shell(shell) => shell.to_possible_value(),
            Kind::Man => Some(PossibleValue::new("man").help("a manual page")),
        }
    }
}

pub(crate) fn main(kind: Kind, mut command: Command) -> anyhow::Result<()> {
    console::print(|out| match kind {
        Kind::Shell(shell) => {
            clap_complete::generate(shell, &mut command, "switchcost", out);
            Ok(())
        }
        Kind::Man => clap_mangen::Man::new(command).render(out),
    })
    .context("cannot print the completions")
}
