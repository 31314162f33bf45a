//! The reads and writes of a brigade, all done by one thread: the baseline.
//!
//! One iteration: the thread writes a byte into the first of N + 1 links; for each of the N links
//! between, it reads the byte, adds one, and writes it into the next; it reads it from the last one. No
//! read ever waits, so nothing is switched to: what is left is the I/O.
//!
//! Two baselines, for two brigades:
//! - blocking (the default): one write and one read a hop, as in `thread-brigade`;
//! - `--nonblocking`: one write, one epoll_wait, one read, and a second read that finds nothing, as in
//!   `async-brigade`, where the second read tells the runtime to wait (see `--read-buffer`).
//!
//! Timed: those system calls; with `--touch`, the use of memory between the read and the write. Left
//! out: making the links, and the check of the bytes.
//!
//! Not to be taken for a floor of the brigades: a thread by itself keeps its caches warm.

mod nonblocking;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use chain::{
    ChainBuilder, ChainFlags, FaultFlags, Needed, Pattern, ReadBuffer, Reader, TokenBuffer,
    WorkingSet, Writer,
};
use clap::Parser;
use contract::message::{Claim, Description};
use contract::{BadUsage, Flags, Pass, Program, Run};
use nix::unistd::{read, write};

/// Do all the reads and writes of a brigade in one thread, and time it: the baseline
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    chain: ChainFlags,
    /// Non-blocking links, with an epoll_wait before each read: the baseline of async-brigade
    #[arg(long)]
    nonblocking: bool,
    #[command(flatten)]
    read_buffer: ReadBuffer,
    #[command(flatten)]
    fault: FaultFlags,
}

/// The station of a task that is not there: its ends, its buffer, its memory.
struct Task {
    from: Reader,
    to: Writer,
    buffer: TokenBuffer,
    memory: WorkingSet,
}

/// All links: the first end to write to, the stations, the last end to read from.
struct Chain {
    first: Writer,
    tasks: Vec<Task>,
    last: Reader,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        if self.read_buffer.read_buffer.is_some() && !self.nonblocking {
            return Err(BadUsage::new(
                "--read-buffer: a blocking read takes one token: drop it, or use --nonblocking",
            ));
        }
        self.fault.check(self.flags.tasks)?;
        self.chain.check_room(Needed::AtOnce)?;
        let (chain, claim) = (&self.chain, Claim::NoSwitch);
        let needs = chain.needs(self.read_buffer.size(chain)?);
        Ok(chain.describe("one-thread-brigade", &self.flags, claim, needs))
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let mut chain = build(cli)?;
    let is_plain = cli.chain.is_plain() && cli.fault.is_none();
    while let Some(mut pass) = run.next_pass()? {
        let result = match (cli.nonblocking, is_plain) {
            (true, _) => nonblocking::drive(cli, &mut chain, &mut pass),
            (false, true) => drive_bytes(cli, &mut chain, &mut pass),
            (false, false) => drive_tokens(cli, &mut chain, &mut pass),
        };
        run.finish(pass)?;
        result?;
    }
    Ok(())
}

fn build(cli: &Cli) -> anyhow::Result<Chain> {
    let (flags, read_size) = (&cli.chain, cli.read_buffer.size(&cli.chain)?);
    let link = || match cli.nonblocking {
        true => flags.transport.nonblocking_link(),
        false => flags.transport.link(),
    };
    let mut builder = ChainBuilder::new(cli.flags.tasks, flags.shuffle, link)?;
    let mut tasks = Vec::new();
    while let Some(station) = builder.next_station()? {
        let task = Task {
            from: station.upstream.with(cli.fault.of(station.place)),
            to: station.downstream,
            buffer: TokenBuffer::new(flags, read_size),
            memory: WorkingSet::new(flags.touch),
        };
        tasks.push((station.place, task));
    }
    tasks.sort_unstable_by_key(|&(place, _)| place);
    let tasks = tasks.into_iter().map(|(_, task)| task).collect();
    let (first, last) = builder.driver_ends();
    Ok(Chain { first, tasks, last })
}

/// Carries bytes along the chain with blocking calls, and times that.
fn drive_bytes(cli: &Cli, chain: &mut Chain, pass: &mut Pass) -> anyhow::Result<()> {
    let pattern = Pattern::new(&cli.chain);
    let (first, last) = (chain.first.file(), chain.last.file());
    let ends = chain.tasks.iter().map(|t| (t.from.file(), t.to.file()));
    let ends: Vec<_> = ends.map(|(from, to)| (from.as_fd(), to.as_fd())).collect();
    let mut token = [0];
    while let Some(iteration) = pass.next_iteration() {
        let start = iteration as u8;

        let clock = Instant::now();
        write(first, &[start])?;
        for &(from, to) in &ends {
            read(from, &mut token)?;
            token[0] = token[0].wrapping_add(1);
            write(to, &token)?;
        }
        read(last, &mut token)?;
        pass.record(clock.elapsed());

        pattern.verify(&token, start, cli.flags.tasks)?;
    }
    Ok(())
}

/// The same with tokens of any size and number, and with work.
fn drive_tokens(cli: &Cli, chain: &mut Chain, pass: &mut Pass) -> anyhow::Result<()> {
    let pattern = Pattern::new(&cli.chain);
    let mut received = pattern.room(cli.chain.tokens, 0);
    while let Some(iteration) = pass.next_iteration() {
        let start = iteration as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            let token = pattern.token(start.wrapping_add(k as u8));
            chain.first.write_all(token)?;
        }
        for (place, task) in chain.tasks.iter_mut().enumerate() {
            for _ in 0..cli.chain.tokens {
                let room = task.buffer.room();
                let read = room.len();
                let came = task.from.read_exact(room);
                came.with_context(|| format!("task {place}"))?;
                for token in task.buffer.whole(read) {
                    token[0] = token[0].wrapping_add(1);
                    task.memory.touch();
                    task.to.write_all(token)?;
                }
            }
        }
        for token in pattern.tokens(&mut received) {
            chain.last.read_exact(token)?;
        }
        pass.record(clock.elapsed());

        pattern.verify(&received, start, cli.flags.tasks)?;
    }
    Ok(())
}
