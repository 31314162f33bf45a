//! A number travels through N threads chained by channels without room. One iteration: the driver sends
//! it; each thread receives it, adds one and sends it on; the driver receives it: N + 1 hops. Timed:
//! those calls. Not to be taken for a switch alone: the channel spins before it sleeps.

use std::sync::mpsc::sync_channel;
use std::{mem, process::ExitCode, thread, time::Instant};

use anyhow::{Context, ensure};
use contract::message::{Claim, Description, Need, Needs};
use contract::{Flags, Program, Run, limits};

/// Time switching between threads: pass a number along a chain of threads joined by channels without room
#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
}

impl Program for Cli {
    fn describe(&self) -> anyhow::Result<Description> {
        Ok(Description {
            hops: Some(u64::from(self.flags.tasks) + 1),
            needs: Needs {
                threads: Need::new(0, 1),
                maps: Need::new(64, 4),
                bytes: Need::new(4 << 20, 44 << 10),
                ..Needs::default()
            },
            ..Description::new("rendezvous-brigade", &self.flags, Claim::KernelSwitch)
        })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| thread::scope(|scope| measure(cli.flags.tasks, run, scope)))
}

fn measure<'s>(n: u32, run: &mut Run, scope: &'s thread::Scope<'s, '_>) -> anyhow::Result<()> {
    let (to, mut from) = sync_channel(0);
    for _ in 0..n {
        let (next, last) = sync_channel(0);
        let receiver = mem::replace(&mut from, last);
        let thread = thread::Builder::new().spawn_scoped(scope, move || {
            receiver.iter().try_for_each(|number: u64| next.send(number + 1))
        });
        thread.with_context(|| limits::refused("create a thread", "--tasks", n))?;
    }
    while let Some(mut pass) = run.next_pass()? {
        while let Some(start) = pass.next_iteration() {
            let clock = Instant::now();
            to.send(start)?;
            let end = from.recv()?;
            pass.record(clock.elapsed());

            ensure!(end == start + u64::from(n), "{end} came out where {start} went in");
        }
        run.finish(pass)?;
    }
    Ok(())
}
