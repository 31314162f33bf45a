//! `switchcost completions` and `switchcost man`, generated from the command line's definition.

use std::fs;
use std::path::{Path, PathBuf};

use crate::system::console;
use anyhow::Context;
use clap::Command;
use clap_complete::Shell;

use crate::system::replace;

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell to print them for
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Write a page for each verb into this folder, instead of printing the main one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionArgs, mut command: Command) -> anyhow::Result<()> {
    console::print(|out| {
        clap_complete::generate(args.shell, &mut command, "switchcost", out);
        Ok(())
    })
    .context("cannot print the completions")
}

pub(crate) fn man(args: &ManArgs, command: Command) -> anyhow::Result<()> {
    match &args.dir {
        None => console::print(|out| clap_mangen::Man::new(command).render(out))
            .context("cannot print the page"),
        Some(dir) => pages(command, dir)
            .with_context(|| format!("cannot write pages into {}", dir.display())),
    }
}

/// Writes the pages to a folder of their own first: the generator follows links.
fn pages(command: Command, dir: &Path) -> anyhow::Result<()> {
    let made = tempfile::tempdir()?;
    clap_mangen::generate_to(command, made.path())?;
    replace::folder(dir)?;
    for page in fs::read_dir(made.path())? {
        let page = page?;
        replace::file(&dir.join(page.file_name()), &fs::read(page.path())?)?;
    }
    Ok(())
}
