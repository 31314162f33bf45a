//! A byte travels through N processes chained by pipes, as a bucket does in a fire brigade.
//!
//! One iteration: the driver writes a byte into the first pipe; each process reads it, adds one, and writes it into the
//! next pipe; the driver reads it from the last pipe. That makes N + 1 hops, or K (N + 1) with `--tokens K`.
//!
//! Timed: one write and one read per hop, and what the kernel does to run the next process. Left out: forking and
//! awaiting the processes, and the check of the bytes.
//!
//! This is `thread-brigade` with an address space per task: in addition, a hop changes the page tables and loses TLB
//! entries. With one task it does what `perf bench sched pipe` does, which counts two hops as one operation.
//!
//! Not to be taken for processes of different programs: these are forked from one process with a single thread, run the
//! same code, and share its pages until they write to them.

mod children;

use std::io::{self, Read, Write};
use std::{fs::File, mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use brigade::{LinkFlags, Placement, Tokens, conclude, pin};
use contract::message::{Claim, Description, Need, Needs};
use contract::{Program, Run, limits};

use children::Children;

/// Time switching between processes: pass a byte along a chain of forked processes joined by pipes
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of processes in the chain")))]
struct Cli {
    #[command(flatten)]
    links: LinkFlags,
    /// CPUs of the processes
    #[arg(long, value_enum, default_value = "free")]
    placement: Placement,
}

/// Bytes of a forked process: its kernel stack and structures, its page tables, and the pages of its parent that it has
/// written to; more than was seen.
const PROCESS_BYTES: u64 = 160 << 10;

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        let links = self.links.transport.needs(&self.links.chain, Claim::KernelSwitch)?;
        let needs = Needs {
            // A child takes its ends with it, and the driver closes them.
            descriptors: Need::new(links.descriptors.fixed + 4 * links.descriptors.each, 0),
            threads: Need::new(0, 1),
            bytes: links.bytes + Need::new(0, PROCESS_BYTES),
            ..links
        };
        Ok(self.links.chain.describe("process-brigade", Claim::KernelSwitch, needs))
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds the chain, drives it, and takes it down.
fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let mut children = Children::new(cli.links.tasks())?;
    let built = build(cli, &mut children);
    run.set_measured([vec![std::process::id() as i32], children.pids()].concat());
    let driven =
        built.and_then(|(first, last)| drive(run, first, last, Tokens::new(&cli.links.chain)));
    // The driver's ends are closed now, and the end of file runs along the chain.
    conclude(driven, children.join()?, run.visits())
}

/// Builds the chain, and waits until each process runs. Returns the driver's ends.
fn build(cli: &Cli, children: &mut Children) -> Result<(File, File)> {
    let n = cli.links.tasks();
    let cpus = cli.placement.cpus(n + 1)?;
    let (last, first) = cli.links.link()?;
    let mut ends = vec![last, first];
    for &cpu in &cpus[1..] {
        let (reader, to) = cli.links.link()?;
        let from = mem::replace(&mut ends[0], reader);
        let forked = children.fork(|guard| {
            // A process that held the other ends open would keep the end of file from the chain.
            ends.clear();
            pin(cpu)?;
            guard.started()?;
            pass_on(from, to)
        });
        forked.with_context(|| limits::refused("create a process", "--tasks", n))?;
    }
    pin(cpus[0]).context("cannot pin the driver")?;
    children.wait_for_start()?;
    Ok((ends.remove(1), ends.remove(0)))
}

/// A process of the chain: takes a byte, adds one, and hands it on, until the end of file.
fn pass_on(mut from: File, mut to: File) -> io::Result<u64> {
    let (mut passed, mut byte) = (0, [0]);
    while from.read(&mut byte)? == 1 {
        byte[0] = byte[0].wrapping_add(1);
        to.write_all(&byte)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the bytes in, takes them out, and times that.
fn drive(run: &mut Run, mut first: File, mut last: File, mut tokens: Tokens<u8>) -> Result<()> {
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let bytes = tokens.set_out(iteration);

            let clock = Instant::now();
            bytes.chunks(1).try_for_each(|byte| first.write_all(byte))?;
            for byte in bytes.chunks_mut(1) {
                last.read_exact(byte).context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration)?;
        }
        run.finish(pass)?;
    }
    Ok(())
}
