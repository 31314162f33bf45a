//! Messages stream from producers to a consumer, which are threads or async tasks, through one channel.
//!
//! One iteration: the consumer tells each of N producers to start; together they send K messages (`--tokens`), as fast
//! as the channel takes them; the consumer receives all of them. With `--repeater` the messages go through a second
//! channel, into which one more thread or task hands what it receives. That makes K hops, or 2 K with `--repeater`.
//!
//! Timed: from before the first start until the last message is there. Left out: creating and joining producers, and
//! the check that each message came once and in order.
//!
//! Not to be taken for the price of a switch: how many messages a producer sends before the consumer has to run depends
//! on `--capacity` and on the scheduler. The switches beside a figure tell.

mod tasks;
mod threads;

use std::ops::Range;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use brigade::StackFlags;
use clap::ValueEnum;
use contract::message::{Description, Need, Needs};
use contract::{BadUsage, Defaults, Flags, Program};
use runtime::{On, RuntimeFlags};

/// Time messages between producers and a consumer, which are threads or async tasks, through a channel
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of producers")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Number of messages in an iteration
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value = "4096", value_parser = clap::value_parser!(u32).range(1..))]
    tokens: u32,
    /// Number of messages that a channel can hold; with 0, a thread that sends waits until its message is taken
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "1", value_parser = clap::value_parser!(u32).range(0..=1 << 28))]
    capacity: u32,
    /// What produces and consumes
    #[arg(long, value_enum, default_value = "thread")]
    on: On,
    /// Have one more thread or task hand each message on, through a second channel
    #[arg(long)]
    repeater: bool,
    #[command(flatten)]
    stack: StackFlags,
    #[command(flatten)]
    runtime: RuntimeFlags,
    /// Where a consumer on Tokio runs
    #[arg(long, value_enum, default_value = "task", help_heading = "Advanced")]
    consumer: Consumer,
}

/// Place of a consumer on Tokio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Consumer {
    /// in a task like the producers
    Task,
    /// in block_on: beside the multi-thread scheduler that thread is no worker, so the kernel has to wake it
    BlockOn,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 100, warmup: 10 };

    fn describe(&self) -> Result<Description> {
        self.check()?;
        self.on.check(self.runtime, self.stack)?;
        let messages = u64::from(self.tokens);
        let channels = 1 + u64::from(self.repeater);
        // 24 bytes for each place of a channel; below, 16 for each place of the consumer's list, and 2 KiB for a producer
        // with its own channel.
        let channel = channels * u64::from(self.capacity) * 24;
        let needs = Needs {
            bytes: Need::new((4 << 20) + channel + messages * 16, 2048),
            ..Needs::default()
        };
        let stream = Description {
            hops: Some(channels * messages),
            tokens: messages,
            bytes: Some(messages),
            needs,
            ..Description::new("stream", &self.flags, self.on.claim())
        };
        match self.on {
            On::Thread => {
                let repeater = Needs { threads: Need::new(1, 0), ..Needs::default() };
                Ok(Description { needs: needs + self.stack.needs() + repeater, ..stream })
            }
            On::Tokio => self.runtime.describe(stream),
        }
    }
}

impl Cli {
    /// Refuses flags that do not go together.
    fn check(&self) -> Result<()> {
        let fault = if self.on == On::Tokio && self.capacity == 0 {
            "--capacity 0: Tokio's channels hold at least one message: raise it, or use --on thread"
        } else if self.on == On::Thread && self.consumer == Consumer::BlockOn {
            "--consumer block-on: threads have no block_on: drop it, or use --on tokio"
        } else {
            return Ok(());
        };
        Err(BadUsage::new(fault))
    }

    /// Numbers that each producer sends in an iteration, after the first one of all.
    fn shares(&self) -> Vec<Range<usize>> {
        let (messages, producers) = (u64::from(self.tokens), u64::from(self.flags.tasks));
        let bound = |producer: u64| (messages * producer / producers) as usize;
        (0..producers).map(|k| bound(k)..bound(k + 1)).collect()
    }
}

/// Checks that each message of an iteration came once, and each producer's messages in order.
fn verify(iteration: u64, received: &[usize], shares: &[Range<usize>]) -> Result<()> {
    let mut next: Vec<usize> = shares.iter().map(|share| share.start).collect();
    for &number in received {
        let place = number.wrapping_sub(iteration as usize);
        let producer = shares.partition_point(|share| share.start <= place).saturating_sub(1);
        let is_next = place == next[producer] && shares[producer].contains(&place);
        ensure!(is_next, "message {number} came twice or out of order, or one before it was lost");
        next[producer] += 1;
    }
    Ok(())
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| match cli.on {
        On::Thread => threads::measure(cli, run),
        On::Tokio => tasks::measure(cli, run),
    })
}
