//! Values of flags that more than one verb takes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::ValueEnum;

use crate::measure::launch;
use crate::measure::store::MOST_KEPT;
use crate::measure::turns::Options;
use crate::plan::Case;
use crate::plan::setting::Setting;
use crate::plan::values::time_limit;
use crate::system::console::{BadUsage, shell_line};
use crate::system::executable::Executable;

/// Output of a verb whose answer is no table of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextOrJson {
    /// for a terminal
    Text,
    /// for programs
    Json,
}

/// A program and its own flags, which end the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct ProgramArgs {
    /// The program, by its name or its path, and its flags
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<String>,
}

impl ProgramArgs {
    /// The program and its flags.
    pub(crate) fn split(&self) -> anyhow::Result<(&str, &[String])> {
        let (program, flags) = self.program.split_first().context("no program is named")?;
        Ok((program, flags))
    }
}

/// True if the flags ask a program for its help, which it has printed: that is no answer to a runner.
pub(crate) fn shows_help(program: &Executable, flags: &[String]) -> anyhow::Result<bool> {
    if !flags.iter().any(|flag| ["--help", "-h"].contains(&flag.as_str())) {
        return Ok(false);
    }
    let status = launch::command(program, &Setting::default()).args(flags).status();
    let path = program.path.display();
    let status = status.with_context(|| format!("cannot start {path}"))?;
    ensure!(status.success(), "{path} {}: {status}", shell_line(flags));
    Ok(true)
}

/// How each process is measured.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Measure {
    /// Time that a program may take to answer or to end; then it is ended by SIGTERM, and 10 s later by SIGKILL [default:
    /// 10m; within a budget a quarter of it, or 10 s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time_limit, help_heading = "Advanced")]
    timeout: Option<Duration>,

    /// Keep each sample in the results, not only their summary
    #[arg(long, help_heading = "Results")]
    keep_samples: bool,

    /// Count events (perf_event_open(2)) in a further run of each process that is not timed
    #[arg(long, help_heading = "Results")]
    counters: bool,
}

impl Measure {
    /// The same for whatever runs a process.
    pub(crate) fn options(self) -> Options {
        Options {
            keep_samples: self.keep_samples,
            counters: self.counters,
            ..Options::new(self.timeout)
        }
    }

    /// Refuses to keep more samples than a record holds.
    pub(crate) fn ensure_can_keep(self, cases: &[Case]) -> anyhow::Result<()> {
        let most = cases.iter().max_by_key(|case| case.iters).filter(|_| self.keep_samples);
        let Some(case) = most.filter(|case| case.iters > MOST_KEPT) else { return Ok(()) };
        Err(BadUsage::new(format!(
            "--keep-samples: a record holds at most {MOST_KEPT} samples, and {} has {} iterations: fewer iterations \
             fit, or several runs",
            case.program, case.iters
        )))
    }
}

/// Results in a folder, the newest first. What is no plain file, such as a FIFO, is not looked into.
pub(crate) fn newest_first(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut dated: Vec<_> = files
        .filter_map(|file| {
            let name = file.file_name();
            let name = name.to_str()?;
            let is_ours = name.starts_with("switchcost-") && name.ends_with(".jsonl");
            let facts =
                fs::metadata(file.path()).ok().filter(|facts| is_ours && facts.is_file())?;
            Some((facts.modified().ok()?, file.path()))
        })
        .collect();
    dated.sort_unstable();
    dated.into_iter().rev().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn results_are_plain_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("switchcost-a.jsonl"), "").unwrap();
        fs::write(path("other.jsonl"), "").unwrap();
        fs::create_dir(path("switchcost-b.jsonl")).unwrap();
        mkfifo(&path("switchcost-c.jsonl"), Mode::S_IRWXU).unwrap();
        symlink("nowhere", path("switchcost-d.jsonl")).unwrap();
        assert_eq!(newest_first(folder.path()), [path("switchcost-a.jsonl")]);
    }
}
