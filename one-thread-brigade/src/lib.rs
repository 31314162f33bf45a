//! The reads and writes of a brigade, all done by one thread: the baseline.
//!
//! One iteration: the thread writes a byte into the first of N + 1 links; for each of the N links
//! between, it reads the byte, adds one, and writes it into the next; it reads it from the last one. No
//! read ever waits, so nothing is switched to: what is left is the I/O.
//!
//! Two baselines, for two brigades:
//! - blocking (the default): one write and one read per hop, as in `thread-brigade`;
//! - `--nonblocking`: one write, one epoll_wait, one read, and a second read that finds nothing, as in
//!   `async-brigade`, where the second read tells the runtime to wait (see `--read-buffer`).
//!
//! Timed: those system calls. Left out: making the links, and the check of the bytes.
//!
//! Not to be taken for a floor of the brigades: a thread by itself keeps its caches warm.

mod links;
mod nonblocking;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use chain::{ByteTokens, ChainFlags, ChainsFlags, ReadBuffer};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Pass, Program, Run};
use nix::unistd::{read, write};

use links::Chain;

/// Time the reads and writes of a brigade without its switches: one thread does them all (the baseline)
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of tasks that the one thread stands in for")))]
#[command(mut_arg("read_buffer", |arg| arg.requires("nonblocking")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
    /// Use non-blocking links, with an epoll_wait before each read: the baseline of async-brigade
    #[arg(long)]
    nonblocking: bool,
    #[command(flatten)]
    read_buffer: ReadBuffer,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let needs = self.chain.needs(self.read_buffer.size());
        let one = ChainsFlags::default();
        self.chain.describe("one-thread-brigade", one, Claim::NoSwitch, needs)
    }
}

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (flags, read_size) = (&cli.chain, cli.read_buffer.size());
    let mut chain = Chain::new(flags, cli.nonblocking, read_size)?;
    let epoll = cli.nonblocking.then(|| nonblocking::watch(&chain)).transpose()?;
    let is_plain = flags.tokens == 1 && flags.fault.is_none();
    while let Some(mut pass) = run.next_pass()? {
        let result = match &epoll {
            Some(epoll) => nonblocking::drive(flags, read_size, (&mut chain, epoll), &mut pass),
            None if is_plain => drive_byte(flags, &mut chain, &mut pass),
            None => drive_tokens(flags, &mut chain, &mut pass),
        };
        run.finish(pass)?;
        result?;
    }
    Ok(())
}

/// Carries a byte along the chain with blocking calls, and times that.
fn drive_byte(flags: &ChainFlags, chain: &mut Chain, pass: &mut Pass) -> anyhow::Result<()> {
    let mut tokens = ByteTokens::new(flags, 1);
    let (first, last) = (&chain.first, &chain.last);
    let ends = chain.tasks.iter().map(|task| (task.from.file().as_fd(), task.to.as_fd()));
    let ends: Vec<_> = ends.collect();
    let mut token = [0];
    while let Some(iteration) = pass.next_iteration() {
        let clock = Instant::now();
        write(first, &[iteration as u8])?;
        for &(from, to) in &ends {
            read(from, &mut token)?;
            token[0] = token[0].wrapping_add(1);
            write(to, &token)?;
        }
        read(last, &mut token)?;
        pass.record(clock.elapsed());

        tokens.set_out(iteration).copy_from_slice(&token);
        tokens.verify(iteration, flags.tasks())?;
    }
    Ok(())
}

/// The same with several tokens, or with a fault that a test asks for.
fn drive_tokens(flags: &ChainFlags, chain: &mut Chain, pass: &mut Pass) -> anyhow::Result<()> {
    let mut tokens = ByteTokens::new(flags, 1);
    let mut token = [0];
    while let Some(iteration) = pass.next_iteration() {
        let trip = tokens.set_out(iteration);

        let clock = Instant::now();
        for token in trip.chunks(1) {
            chain.first.write_all(token)?;
        }
        for (place, task) in chain.tasks.iter_mut().enumerate() {
            for _ in 0..flags.tokens {
                let came = task.from.read_exact(&mut token);
                came.with_context(|| format!("task {place}"))?;
                token[0] = token[0].wrapping_add(1);
                task.to.write_all(&token)?;
            }
        }
        for token in trip.chunks_mut(1) {
            chain.last.read_exact(token)?;
        }
        pass.record(clock.elapsed());

        tokens.verify(iteration, flags.tasks())?;
    }
    Ok(())
}
