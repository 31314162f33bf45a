//! A token travels through N processes chained by pipes, as a bucket does in a fire brigade.
//!
//! One iteration: the driver writes a byte into the first link; each process reads it, adds one, and
//! writes it into the next link (`chain::pass_on`); the driver reads it from the last link: N + 1 hops,
//! each a write, a wake-up and a read.
//!
//! Timed: those system calls, and what the kernel does to run the next process. Left out: forking and
//! awaiting the processes, and the check of the bytes.
//!
//! This is `thread-brigade` with an address space per task: in addition, a hop changes the page tables and loses TLB
//! entries. With one task it does what `perf bench sched pipe` does, which counts two hops as one operation.
//!
//! Not to be taken for processes of different programs: these are forked from one with a single thread,
//! run the same code, and share its pages until they write to them.

mod children;

use std::fs::File;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use chain::{ByteTokens, ChainBuilder, ChainFlags, ChainsFlags, TaskResults, pass_on};
use clap::Parser;
use contract::message::{Claim, Description, Need, Needs};
use contract::{Flags, Program, Run, limits};
use threads::{CpuAssignment, Placement};

use children::Children;

/// Time switching between processes: pass a byte along a chain of forked processes joined by pipes
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of processes in the chain")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
    /// CPUs of the processes: free, the kernel decides; half, one CPU for the first half of a chain and another for
    /// the rest; spread, neighbours on different CPUs; chain, one CPU per chain; or a list such as 0,4, to use in turn
    #[arg(long, value_name = "free|half|spread|chain|LIST", default_value = "free")]
    placement: Placement,
}

/// Bytes of a forked process: its kernel stack and structures, its page tables, and the pages of its
/// parent that it has written to; more than was seen.
const PROCESS_BYTES: u64 = 160 << 10;

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let one = ChainsFlags::default();
        self.chain.describe("process-brigade", one, Claim::KernelSwitch, self.needs())
    }
}

impl Cli {
    fn needs(&self) -> Needs {
        let chain = self.chain.needs(1);
        Needs {
            // A child takes its ends with it, and the driver closes them.
            descriptors: Need::new(chain.descriptors.fixed + 4 * chain.descriptors.each, 0),
            threads: Need::new(0, 1),
            maps: Need::new(chain.maps.fixed + chain.maps.each, 0),
            bytes: chain.bytes + Need::new(0, PROCESS_BYTES),
            ..Needs::default()
        }
    }
}

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(measure)
}

/// Builds the chain, drives it, and takes it down.
fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let cpus = CpuAssignment::new(cli.placement)?;
    let mut children = Children::new(cli.chain.tasks())?;
    let built = build(cli, &cpus, &mut children);
    run.set_measured([vec![std::process::id() as i32], children.pids()].concat());
    let driven = built.and_then(|ends| drive(cli, ends, run));
    // The driver's ends are closed now, and the end of file runs along the chain.
    TaskResults::from_iter(children.join()?).into_result(driven, run.sent())
}

/// Builds a chain, waits until each process runs, and returns the driver's ends.
fn build(cli: &Cli, cpus: &CpuAssignment, children: &mut Children) -> anyhow::Result<(File, File)> {
    let (chain, tasks) = (&cli.chain, cli.chain.tasks());
    let mut builder = ChainBuilder::new(tasks, || chain.transport.descriptors())?;
    while let Some(station) = builder.next_station()? {
        let (place, fault) = (station.place, chain.fault.of((0, tasks), station.place));
        let forked = children.fork(place, fault, |guard| {
            builder.close();
            cpus.pin(place + 1, tasks + 1)?;
            guard.started()?;
            pass_on(station.upstream, station.downstream, fault)
        });
        forked.with_context(|| limits::refused("create a process", tasks))?;
    }
    cpus.pin(0, tasks + 1)?;
    children.wait_for_start()?;
    let (last, first) = builder.driver_ends();
    Ok((last.into(), first.into()))
}

/// The driver: sends the tokens in, takes them out, and times that.
fn drive(cli: &Cli, (mut last, mut first): (File, File), run: &mut Run) -> anyhow::Result<()> {
    let mut tokens = ByteTokens::new(&cli.chain, 1);
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let trip = tokens.set_out(iteration);

            let clock = Instant::now();
            for token in trip.chunks(1) {
                first.write_all(token)?;
            }
            for token in trip.chunks_mut(1) {
                last.read_exact(token).context("the chain ended early")?;
            }
            pass.record(clock.elapsed());

            tokens.verify(iteration, cli.chain.tasks())?;
        }
        run.finish(pass)?;
    }
    Ok(())
}
