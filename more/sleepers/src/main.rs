//! Threads or async tasks that sleep, ten thousand of them or a million: a comparison that many articles make.
//!
//! One iteration: create N threads or tasks (`--on`), each of which sleeps for `--sleep` as soon as it runs, and join all
//! of them, the oldest first. With `--gate` each waits until all are alive before it sleeps.
//!
//! Timed: all of that, until the last one is joined. The distribution `late` shows how late each one woke, `alive_count`
//! the most that were alive at once.
//!
//! Without the gate a sleeper may have slept and ended before the last one is created: then N were never alive together.
//! A thread that has ended keeps its stack until it is joined, which is most of the resident memory of such a run.
//! Tokio's timers count whole milliseconds and round up: a task is late by half a millisecond on average even if it need
//! not wait for a CPU. The lists of the driver, a handle and a time of 8 bytes for each sleeper, are part of the memory.
//!
//! To be held, all of them wait after using `--stack-depth` bytes of their stack, also without `--gate`; the future of a
//! task keeps `--state` meanwhile.

mod alive;
mod depth;
mod tasks;
mod threads;

use std::process::ExitCode;

use anyhow::Result;
use brigade::StackFlags;
use clap::ValueEnum;
use contract::message::{Description, Need, Needs, PassKind};
use contract::{BadUsage, Defaults, Flags, Program};
use host::units::{Bytes, Span};
use runtime::{On, RuntimeFlags};

/// Time threads, or async tasks, that sleep: from the first spawn to the last join
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of threads or async tasks")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// What sleeps
    #[arg(long, value_enum, default_value = "thread")]
    on: On,
    /// How long each thread or task sleeps
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = sleep_time, default_value = "1s")]
    sleep: Span,
    /// Let none begin its sleep before all of them exist
    #[arg(long)]
    gate: bool,
    #[command(flatten)]
    runtime: RuntimeFlags,
    #[command(flatten)]
    stack: StackFlags,
    /// Bytes of its stack that each touches before it is held, by nested calls that return (for --command)
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, default_value = "0", value_parser = depth::parse, help_heading = "Advanced")]
    stack_depth: Bytes,
    /// What the future of each task keeps across its wait when it is held (for --command)
    #[arg(long, value_enum, default_value = "0", help_heading = "Advanced")]
    state: State,
}

/// Bytes in a future: its size is known to the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum State {
    #[value(name = "0")]
    None,
    #[value(name = "1KiB")]
    OneKib,
    #[value(name = "8KiB")]
    EightKib,
}

impl State {
    fn bytes(self) -> u64 {
        match self {
            State::None => 0,
            State::OneKib => 1 << 10,
            State::EightKib => 8 << 10,
        }
    }
}

/// Longest sleep: a day.
const LONGEST: Span = Span(86_400 * 1_000_000_000);

fn sleep_time(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(0) => Err("a sleep takes at least 1ns: raise it".to_owned()),
        span if span > LONGEST => {
            Err("a sleep takes at most a day: lower it to 1d or less".to_owned())
        }
        span => Ok(span),
    }
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 10_000, iters: 1, warmup: 0 };

    fn describe(&self) -> Result<Description> {
        self.on.check(self.runtime, self.stack)?;
        if self.on == On::Thread && self.state != State::None {
            return Err(BadUsage::new(
                "--state: a thread keeps its state on its stack: use --stack-depth, or --on tokio",
            ));
        }
        let mut notes =
            vec![format!("the time, also per task, contains the sleep of {}", self.sleep)];
        if !self.gate {
            let fewer = "'alive count' may be below --tasks, since the first may end before the last start: --gate prevents it";
            notes.push(fewer.to_owned());
        }
        let sleepers = Description {
            notes,
            // An iteration takes as long as a sleep: none is spent untimed after a wait, and nothing takes turns with it.
            passes: vec![PassKind { settle: 0, ..PassKind::main() }],
            alone: true,
            ..Description::new("sleepers", &self.flags, self.on.claim())
        };
        match self.on {
            On::Thread => Ok(Description { needs: threads::needs(self)?, ..sleepers }),
            On::Tokio => {
                // A task with its timer, and its places in the driver's lists.
                let needs = Needs {
                    bytes: Need::new(4 << 20, 512 + self.state.bytes()),
                    ..Needs::default()
                };
                self.runtime.describe(Description { needs, ..sleepers })
            }
        }
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| {
        depth::set(cli.stack_depth);
        match cli.on {
            On::Thread => threads::measure(cli, run),
            On::Tokio => tasks::measure(cli, run),
        }
    })
}
