//! What the contract adds: programs of this workspace against bare loops of the same system calls,
//! which know nothing of it.
//!
//! `cargo bench --bench overhead` alternates them, each in a fresh process, and prints the ratio
//! of the medians of their process means. The goal is at most 1.02.

use std::env;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write, pipe};
use std::process::{Command, ExitCode};
use std::time::Instant;

use contract::message::MOST_SAMPLES;

use anyhow::{Context, ensure};
use contract::units::Nanos;
use stats::Estimate;
use switchcost::figures::CONFIDENCE;
use switchcost::measure::turns::{self, Options, Seat};
use switchcost::plan::programs::Programs;
use switchcost::plan::{Case, ProgramTables};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

const TASKS: usize = 500;
const WARMUPS: usize = 100;
const PAIRS: usize = 25;
const GOAL: f64 = 1.02;

/// A bare loop and the program that does the same.
struct Pair {
    bare: &'static str,
    program: &'static str,
    flags: &'static [&'static str],
    iters: usize,
}

const PAIRS_TO_RUN: [Pair; 2] = [
    Pair { bare: "bare-pipes", program: "one-thread-brigade", flags: &[], iters: 2000 },
    Pair {
        bare: "bare-tokio",
        program: "async-brigade",
        flags: &["--flavor", "multi-thread"],
        iters: 800,
    },
];

fn main() -> ExitCode {
    // This executable runs itself for the bare loops; cargo passes `--bench`.
    let args: Vec<String> = env::args().collect();
    let outcome = match &args[1..] {
        [name, iters] if name == "bare-pipes" => bare_pipes(iters),
        [name, iters] if name == "bare-tokio" => bare_tokio(iters),
        _ => compare(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            contract::console::say(&format!("overhead: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

/// N + 1 pipes, each written to and read from by this thread. Prints ns per iteration.
fn bare_pipes(iters: &str) -> anyhow::Result<()> {
    let iters: usize = iters.parse()?;
    let links: Vec<(File, File)> = (0..=TASKS)
        .map(|_| {
            let (reader, writer) = pipe()?;
            Ok((
                File::from(std::os::fd::OwnedFd::from(reader)),
                File::from(std::os::fd::OwnedFd::from(writer)),
            ))
        })
        .collect::<std::io::Result<_>>()?;
    let mut clock = Instant::now();
    for i in 0..WARMUPS + iters {
        if i == WARMUPS {
            clock = Instant::now();
        }
        let mut byte = [0];
        for (mut reader, mut writer) in links.iter().map(|(r, w)| (r, w)) {
            writer.write_all(&byte)?;
            reader.read_exact(&mut byte)?;
            byte[0] = byte[0].wrapping_add(1);
        }
        black_box(byte);
    }
    println!("{}", clock.elapsed().as_nanos() as f64 / iters as f64);
    Ok(())
}

/// A chain of Tokio tasks over pipes. Prints ns per iteration.
fn bare_tokio(iters: &str) -> anyhow::Result<()> {
    let iters: usize = iters.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().build()?;
    let elapsed = runtime.block_on(async {
        let (mut first, mut upstream) = pipe::pipe()?;
        for _ in 0..TASKS {
            let (mut downstream, next) = pipe::pipe()?;
            tokio::spawn(async move {
                let mut byte = [0];
                while upstream.read(&mut byte).await? == 1 {
                    byte[0] = byte[0].wrapping_add(1);
                    downstream.write_all(&byte).await?;
                }
                std::io::Result::Ok(())
            });
            upstream = next;
        }
        let driver = tokio::spawn(async move {
            let mut clock = Instant::now();
            for i in 0..WARMUPS + iters {
                if i == WARMUPS {
                    clock = Instant::now();
                }
                first.write_all(&[0]).await?;
                upstream.read_exact(&mut [0]).await?;
            }
            std::io::Result::Ok(clock.elapsed())
        });
        anyhow::Ok(driver.await??)
    })?;
    println!("{}", elapsed.as_nanos() as f64 / iters as f64);
    Ok(())
}

fn compare() -> anyhow::Result<()> {
    let programs =
        Programs::up_to_date(PAIRS_TO_RUN.iter().map(|pair| pair.program), &ProgramTables::new())?;
    println!("ns per hop, medians of {PAIRS} processes each, {TASKS} tasks");
    let mut over = Vec::new();
    for pair in &PAIRS_TO_RUN {
        let (mut bare, mut program) = (Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            bare.push(run_bare(pair)?);
            program.push(run_program(pair, &programs)?);
        }
        let median = |values: &[f64]| stats::median(values).context("no figures");
        let (a, b) = (median(&program)?, median(&bare)?);
        let hops = (TASKS + 1) as f64;
        let paired = Estimate::ratio(&program, &bare, CONFIDENCE)
            .and_then(|e| e.interval)
            .context("no interval")?;
        println!(
            "{:<20}{:>10}   {:<12}{:>10}   ratio {:.4}   pair by pair {:.4} [{:.4}, {:.4}]",
            pair.program,
            Nanos(a / hops).to_string(),
            pair.bare,
            Nanos(b / hops).to_string(),
            a / b,
            paired.estimate,
            paired.low,
            paired.high
        );
        if a / b > GOAL {
            over.push(pair.program);
        }
    }
    ensure!(over.is_empty(), "over the goal of {GOAL}: {}", over.join(", "));
    Ok(())
}

/// Runs this executable as a bare loop; ns per iteration.
fn run_bare(pair: &Pair) -> anyhow::Result<f64> {
    let output =
        Command::new(env::current_exe()?).args([pair.bare, &pair.iters.to_string()]).output()?;
    ensure!(output.status.success(), "{}: {}", pair.bare, output.status);
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Runs the program; its mean in ns per iteration.
fn run_program(pair: &Pair, programs: &Programs) -> anyhow::Result<f64> {
    let mut flags: Vec<String> = pair.flags.iter().map(|&flag| flag.to_owned()).collect();
    flags.extend(["--tasks".to_owned(), TASKS.to_string()]);
    let case = Case {
        program: pair.program.to_owned(),
        flags,
        iters: pair.iters as u64,
        warmup: WARMUPS as u64,
        ..Case::default()
    };
    let options = Options::default();
    let program = programs.executable(pair.program)?;
    let size = case.iters.min(MOST_SAMPLES);
    let iterations = Some(size);
    let seat = Seat { case: &case, program, described: None, iterations, slices: None };
    let mut rng = fastrand::Rng::with_seed(1);
    let measured =
        turns::measure(&[seat], &[vec![0]], &options, Instant::now(), &mut rng, |_, _| {});
    let process = measured.into_iter().flatten().next().context("nothing was measured")?.process;
    match process.error {
        None => Ok(process.samples.context("no samples")?.mean),
        Some(reason) => anyhow::bail!("{}: {reason}", pair.program),
    }
}
