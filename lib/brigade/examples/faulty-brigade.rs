//! A brigade with a thread that fails or lies: it tests the proof, how a program ends, and `check`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::{mem, process::ExitCode, thread, time::Instant};

use anyhow::{Context, Result};
use brigade::{ChainFlags, StackFlags, StartLatch, Tokens, Transport, conclude, join};
use clap::ValueEnum;
use contract::message::{Claim, Description};
use contract::{Program, Run};

/// Pass a byte along a chain of threads; one of them fails after three bytes, or the description is wrong
#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
    #[command(flatten)]
    stack: StackFlags,
    /// What goes wrong
    #[arg(long, value_enum)]
    fault: Option<Fault>,
    /// Place of the thread that fails; past the last one it is the driver
    #[arg(long, default_value_t = 1)]
    at: u32,
}

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fault {
    /// a read fails
    Fail,
    /// a read panics
    Panic,
    /// the thread ends before it has started
    Absent,
    /// a read never returns
    Hang,
    /// a byte is inverted
    Corrupt,
    /// a byte is passed on, and not counted
    Miscount,
    /// it claims that a runtime switches
    Claim,
    /// it claims ten times as many hops
    Hops,
    /// its samples are a fiftieth of the time
    Samples,
    /// it claims to need 16 bytes per thread
    FewBytes,
    /// it claims to need 15 MB per thread
    ManyBytes,
    /// ... to need 3 of the 4 memory maps of a thread
    FewMaps,
    /// ... or 5
    ManyMaps,
}

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        let needs = Transport::Pipe.needs(&self.chain, Claim::KernelSwitch)? + self.stack.needs();
        let mut description = self.chain.describe("faulty-brigade", Claim::KernelSwitch, needs);
        match self.fault {
            Some(Fault::Claim) => description.claim = Claim::UserSwitch,
            Some(Fault::Hops) => description.hops = description.hops.map(|hops| 10 * hops),
            Some(Fault::FewBytes) => description.needs.bytes.each = 16,
            Some(Fault::ManyBytes) => description.needs.bytes.each = 15_000_000,
            Some(Fault::FewMaps) => description.needs.maps.each = 3,
            Some(Fault::ManyMaps) => description.needs.maps.each = 5,
            _ => {}
        }
        Ok(description)
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let n = cli.chain.tasks();
    let mut latch = StartLatch::new(n);
    let mut threads = Vec::new();
    let (mut last, first) = Transport::Pipe.link(n)?;
    for k in 0..n {
        let (reader, to) = Transport::Pipe.link(n)?;
        let (from, guard) = (mem::replace(&mut last, reader), latch.guard()?);
        let fault = cli.fault.filter(|_| k == cli.at);
        threads.push(cli.stack.spawn(n, move || {
            if fault == Some(Fault::Absent) {
                return Err(io::Error::other("is absent"));
            }
            guard.started();
            pass_on(from, to, fault)
        })?);
    }
    let fault = cli.fault.filter(|&fault| n <= cli.at || fault == Fault::Samples);
    let driven =
        latch.wait().and_then(|()| drive(run, first, last, Tokens::new(&cli.chain), fault));
    conclude(driven, threads.into_iter().map(|thread| Ok(join(thread)??)), run.visits())
}

fn pass_on(mut from: File, mut to: File, fault: Option<Fault>) -> io::Result<u64> {
    let (mut passed, mut byte) = (0, [0]);
    while from.read(&mut byte)? == 1 {
        byte[0] = byte[0].wrapping_add(1);
        match fault.filter(|_| passed == 3) {
            Some(Fault::Fail) => return Err(io::Error::other("fails")),
            Some(Fault::Panic) => panic!("panics"),
            Some(Fault::Corrupt) => byte[0] = !byte[0],
            Some(Fault::Miscount) => passed -= 1,
            Some(Fault::Hang) => loop {
                thread::park();
            },
            _ => {}
        }
        to.write_all(&byte)?;
        passed += 1;
    }
    Ok(passed)
}

fn drive(
    run: &mut Run,
    mut first: File,
    mut last: File,
    mut tokens: Tokens<u8>,
    fault: Option<Fault>,
) -> Result<()> {
    while let Some(mut pass) = run.next_pass()? {
        while let Some(iteration) = pass.next_iteration() {
            let bytes = tokens.set_out(iteration);
            if iteration == 3 && fault == Some(Fault::Panic) {
                panic!("panics");
            }

            let clock = Instant::now();
            bytes.chunks(1).try_for_each(|byte| first.write_all(byte))?;
            for byte in bytes.chunks_mut(1) {
                last.read_exact(byte).context("the chain ended early")?;
            }
            let elapsed = clock.elapsed();
            pass.record(if fault == Some(Fault::Samples) { elapsed / 50 } else { elapsed });

            tokens.verify(iteration)?;
        }
        run.finish(pass)?;
    }
    Ok(())
}
