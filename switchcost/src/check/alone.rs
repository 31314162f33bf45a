//! A program run alone, by a person.

use std::fs::File;

use anyhow::{Context, ensure};

use super::candidate::{Candidate, TASKS};

/// Rows below the original's two lines.
const ROWS: usize = 4;

/// The original's two lines, and at most four more; one for each distribution of its own.
pub(crate) fn prints(candidate: &Candidate) -> anyhow::Result<()> {
    let ended = candidate.small("--iters 5").finish()?.expect(0)?;
    ensure!(ended.stderr.is_empty(), "{ended:?}");
    let [first, second, rows @ ..] = &ended.stdout[..] else {
        anyhow::bail!("no two lines: {ended:?}");
    };
    ensure!(*first == format!("{TASKS} tasks, 5 iterations:"), "{first}");
    let mut rest = second.as_str();
    for (i, words) in
        ["mean ", " per iteration, stddev ", " (", " per task per iter)"].iter().enumerate()
    {
        let (value, behind) = rest.split_once(words).with_context(|| second.clone())?;
        let is_time = value.starts_with(|c: char| c.is_ascii_digit()) && value.ends_with('s');
        ensure!(if i == 0 { value.is_empty() } else { is_time }, "{second}");
        rest = behind;
    }
    ensure!(rest.is_empty(), "{second}");
    let own = rows.iter().filter(|row| !is_common(row)).count();
    ensure!(rows.len() - own <= ROWS, "too many lines: {ended:?}");
    ensure!(rows.iter().all(|row| row.chars().count() <= 120), "a long line: {ended:?}");
    Ok(())
}

fn is_common(row: &str) -> bool {
    ["per hop", "iteration", "cpu time", "switches"].iter().any(|name| row.starts_with(name))
}

/// `--quiet`, `--help`, `--version`, one iteration of one task.
pub(crate) fn obeys_flags(candidate: &Candidate) -> anyhow::Result<()> {
    let quiet = candidate.small("--iters 2 --quiet").finish()?.expect(0)?;
    ensure!(quiet.stdout.is_empty() && quiet.stderr.is_empty(), "{quiet:?}");
    candidate.sized(1, "--warmup 0 --iters 1").finish()?.expect(0)?;
    for flag in ["--help", "--version"] {
        let told = candidate.bare(flag).finish()?.expect(0)?;
        ensure!(told.stderr.is_empty() && !told.stdout.is_empty(), "{told:?}");
        let full = File::options().write(true).open("/dev/full")?;
        candidate.bare(flag).stdout(full).finish()?.expect(1)?;
    }
    Ok(())
}

/// `--command` runs while all tasks are there, and its failure is one.
pub(crate) fn runs_a_command(candidate: &Candidate) -> anyhow::Result<()> {
    let threads = candidate.description(TASKS)?.needs.threads;
    let command = "echo $(ls /proc/{pid}/task | wc -l) $(ls /proc | wc -l)";
    let start = candidate.small("--iters 2 --quiet --command").arg(command);
    let ended = start.finish()?.expect(0)?;
    let [line] = &ended.stdout[..] else {
        anyhow::bail!("the command's one line: {ended:?}");
    };
    let there: u64 = line.split(' ').next().unwrap_or("").parse()?;
    ensure!(there >= 1 && there <= 1 + threads.of(TASKS), "{there} threads: {ended:?}");
    let start = candidate.small("--iters 2 --command").arg("exit 3");
    start.finish()?.expect(1)?.expect_words(&["--command", "3"])?;
    Ok(())
}
