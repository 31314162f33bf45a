//! OS threads are created, N in a row.
//!
//! One iteration: create N threads, each of which returns its own number at once, and join them.
//!
//! Timed: the N calls of `spawn`. Each takes a stack from the C library's cache, which keeps 40 MiB of joined stacks, or
//! maps a new one, and calls clone3(2). Threads that run already slow the creator: they take CPUs and the lock of the
//! address space. Left out: the joins, and the check of the numbers; CPU time and switches include them.
//!
//! To be held, N threads sleep at a gate.
//!
//! Not to be taken for the cost of N threads that are alive at once: some end while others are created (`sleepers` keeps
//! all alive).
//!
//! To trust a figure, read this page and lib/contract/src/{pass,samples}.rs, lib/brigade/src/stack.rs: the rest of what
//! it links is outside of the timed spans.

use std::{process::ExitCode, time::Instant};

use anyhow::{Result, ensure};
use brigade::{StackFlags, hold, join};
use contract::message::{Claim, Description, Need, Needs};
use contract::{Defaults, Flags, Pass, Program, Step};

/// Time how long it takes to create OS threads
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of threads to create per iteration")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    stack: StackFlags,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1000, iters: 100, warmup: 10 };

    fn describe(&self) -> Result<Description> {
        // The gate's pipe, a few descriptors to spare, and the list of threads.
        let descriptors = Need::new(10, 0);
        let driver = Needs { descriptors, bytes: Need::new(4 << 20, 128), ..Needs::default() };
        Ok(Description {
            needs: self.stack.needs() + driver,
            ..Description::new("thread-creation", &self.flags, Claim::KernelSwitch)
        })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| {
        while let Some(step) = run.next_step()? {
            match step {
                Step::Hold => hold(cli.flags.tasks, cli.stack, || (), || run.held())?,
                Step::Pass(mut pass) => {
                    create(cli, &mut pass)?;
                    run.finish(*pass)?;
                }
            }
        }
        Ok(())
    })
}

/// Creates N threads in each iteration, and times that.
fn create(cli: &Cli, pass: &mut Pass) -> Result<()> {
    let n = cli.flags.tasks;
    let mut threads = Vec::with_capacity(n as usize);
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for k in 0..n {
            threads.push(cli.stack.spawn(n, move || k)?);
        }
        pass.record(clock.elapsed());

        for (k, thread) in (0..).zip(threads.drain(..)) {
            let returned = join(thread)?;
            ensure!(returned == k, "thread {k} returned {returned}");
        }
    }
    Ok(())
}
