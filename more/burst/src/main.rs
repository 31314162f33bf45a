//! What does a process still hold after a burst?
//!
//! One iteration is a burst: N threads or async tasks (`--tasks`, `--on`) are created, each writes 4 KiB that it keeps
//! (a task on the heap, a thread on its stack), all are alive at once, and all end. Timed: all of that, and in the first
//! burst a look at the memory.
//!
//! What counts are the distributions, in bytes beyond what the process had before the first burst: `alive_bytes` while
//! all were alive, `first_bytes` and `second_bytes` after the first and the second burst, `last_bytes` after the last
//! one, and `trimmed_bytes` after the allocator was asked to give back what it can. If a second burst takes more than
//! the first one, something leaks, or is not used again; if it takes the same, the allocator keeps pages for it.
//!
//! Memory is the process's own, resident or swapped (smaps_rollup); the kernel's stacks and page tables are not part of
//! it. `--allocator` is that of the whole process.
//!
//! Proof: each task says that it has written its 4 KiB, and all together have to be seen in the memory.

mod allocator;
mod tasks;

use std::fs;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use allocator::Allocator;
use anyhow::{Context, Result, ensure};
use brigade::StackFlags;
use clap::Parser;
use contract::message::{Description, Need, Needs, PassKind};
use contract::{Defaults, Flags, Program, Run};
use runtime::{On, RuntimeFlags};

/// Measure what memory a process still holds after a burst of threads or async tasks
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of threads or async tasks in a burst")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// What each burst consists of
    #[arg(long, value_enum, default_value = "tokio")]
    on: On,
    /// Allocator of the process: glibc, glibc-2-arenas (as by MALLOC_ARENA_MAX=2), or a library such as
    /// libjemalloc.so.2, by LD_PRELOAD
    #[arg(long, value_name = "ALLOCATOR", default_value = "glibc", value_parser = Allocator::parse)]
    allocator: Allocator,
    #[command(flatten)]
    runtime: RuntimeFlags,
    #[command(flatten)]
    stack: StackFlags,
}

/// Bytes that each task writes and keeps.
const STATE: usize = 4096;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 10_000, iters: 5, warmup: 0 };

    fn describe(&self) -> Result<Description> {
        self.on.check(self.runtime, self.stack)?;
        let burst = Description {
            passes: vec![PassKind { settle: 0, ..PassKind::main() }],
            // An untimed burst would be the first one.
            alone: true,
            ..Description::new("burst", &self.flags, self.on.claim())
        };
        let needs = Needs {
            bytes: Need::new(16 << 20, 2 * STATE as u64),
            space: Need::new(self.allocator.space(), 0),
            ..Needs::default()
        };
        match self.on {
            On::Thread => Ok(Description { needs: needs + self.stack.needs(), ..burst }),
            On::Tokio => self.runtime.describe(Description { needs, ..burst }),
        }
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| {
        cli.allocator.choose()?;
        measure(cli, run)
    })
}

fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let runtime =
        (cli.on == On::Tokio).then(|| cli.runtime.build(|builder| builder)).transpose()?;
    let n = cli.flags.tasks;
    let (mut before, mut alive, mut after) = (0, 0, Vec::new());
    while let Some(mut pass) = run.next_pass()? {
        while pass.next_iteration().is_some() {
            if after.is_empty() {
                before = memory()?;
            }
            let mut look = || {
                if after.is_empty() {
                    alive = memory()?.saturating_sub(before);
                }
                Ok(())
            };
            let clock = Instant::now();
            match &runtime {
                Some(runtime) => runtime.block_on(tasks::burst(n, &mut look))?,
                None => brigade::hold(n, cli.stack, write_to_stack, &mut look)?,
            }
            pass.record(clock.elapsed());

            after.push(memory()?.saturating_sub(before));
            let least = u64::from(n) * STATE as u64;
            ensure!(
                alive >= least,
                "{alive} bytes were held while all were alive: {least} at least were written"
            );
        }
        run.finish(pass)?;
    }
    if after.is_empty() {
        return Ok(());
    }
    allocator::trim();
    let trimmed = memory()?.saturating_sub(before);
    let (last, mut bursts) = (after.last().copied(), after.iter().copied());
    for (name, bytes) in [
        ("alive_bytes", Some(alive)),
        ("first_bytes", bursts.next()),
        ("second_bytes", bursts.next()),
        ("last_bytes", last),
        ("trimmed_bytes", Some(trimmed)),
    ] {
        run.add_extra(name, &bytes.into_iter().collect());
    }
    Ok(())
}

/// Memory of this process, resident or swapped, in bytes.
fn memory() -> Result<u64> {
    let path = "/proc/self/smaps_rollup";
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let size = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    let kib = size("Rss:").zip(size("Swap:")).map(|(resident, swapped)| resident + swapped);
    Ok(kib.with_context(|| format!("{path} has no Rss and Swap"))? << 10)
}

/// Writes to the stack below the caller.
#[inline(never)]
fn write_to_stack() {
    black_box([u8::MAX; STATE]);
}
