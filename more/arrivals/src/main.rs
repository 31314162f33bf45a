//! Requests reach a TCP echo server over loopback, on a schedule that waits for no response.
//!
//! The server is a process of its own: one of `servers.rs`, or any program. This process is the client, in one thread:
//! it keeps `--tasks` connections open, sends `--rate` requests per second, after exponential gaps, to one connection
//! after the other, and sleeps in between. The server returns each request as it is, so that a response proves its own
//! work.
//!
//! One iteration is a window of 50 ms, or of four requests if these take longer. Its sample is the **CPU time of the
//! server per request**: the increase of the server's CPU clock over the window, divided by the requests. CPU times,
//! switches and memory that a runner reads are the server's alone. Left out: what the client does, and the check of
//! the responses.
//!
//! `response` is the time from a request's *scheduled* arrival until the client has its response: a request that is
//! sent late, or waits behind others, counts in full (no coordinated omission). `sent_late` is the client's own share
//! of it. A rate that client and server cannot reach on these CPUs is an error.
//!
//! This is no model of a network: loopback has no interrupts of a device, and client and server share the CPUs.

mod client;
mod process;
mod quota;
mod servers;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use brigade::worker_needs;
use clap::Parser;
use contract::message::{COUNTED, Description, Need, Needs, PassKind};
use contract::{BadUsage, Defaults, Flags, Program, Run};
use host::strays;
use host::units::{Bytes, Span};
use nix::unistd::{AccessFlags, access};
use runtime::Flavor;

use client::Client;
use process::{Server, ServerKind};
use quota::{Quota, QuotaGroup};

/// Measure the CPU time that a TCP echo server takes per request, with a thread or an async task per connection
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of connections").visible_alias("connections")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Server: io, which waits once for up to 50 requests; epoll, an event loop in one thread; epoll-per-cpu, an event loop
    /// on each CPU; epoll-pool, as many threads that share one epoll; thread, a thread per connection; tokio-current-thread or
    /// tokio, an async task per connection; tokio-spawn, also a task per request; or the path of a single-process program
    /// that prints one line with the name, flavor and version of its runtime, and accepts connections on standard input
    #[arg(long, value_name = "SERVER", default_value = "tokio")]
    on: ServerKind,
    /// Requests per second over all connections together
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "5000", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Size of a request and of its response
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, default_value = "32", value_parser = size)]
    size: Bytes,
    /// CPU time that the server works for each request, such as 50us: it multiplies, as often as fits into this time when
    /// it starts
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = work)]
    work: Option<Span>,
    /// Tokio's worker threads [default: TOKIO_WORKER_THREADS, or one per CPU; under a quota, one per whole CPU of it]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=32768))]
    workers: Option<u32>,
    /// CPU time that the server may use, as a number of CPUs such as 0.5: it gets a control group of its own with this
    /// quota
    #[arg(long, value_name = "CPUS", allow_negative_numbers = true, value_parser = Quota::parse)]
    quota: Option<Quota>,
}

fn size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        // A request begins with its number.
        size @ Bytes(8..=0x0010_0000) => Ok(size),
        size => Err(format!("{size}: a request has from 8 B to 1 MiB")),
    }
}

fn work(text: &str) -> Result<Span, String> {
    // Each connection begins with a request, one after the other.
    Span::at_most(text, Span(100_000_000))
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 200, iters: 60, warmup: 5 };

    fn describe(&self) -> anyhow::Result<Description> {
        let runtime = self.on.runtime(self.workers);
        if self.workers.is_some() && runtime.is_none_or(|r| r.flavor == Flavor::CurrentThread) {
            return Err(BadUsage::new(
                "--workers: only Tokio's multi-thread scheduler has workers: drop it, or use --on tokio",
            ));
        }
        if let ServerKind::Program(path) = &self.on
            && let Err(e) = access(path, AccessFlags::X_OK)
        {
            return Err(BadUsage::new(format!("--on {}: {}", path.display(), e.desc())));
        }
        if self.work.is_some() && matches!(self.on, ServerKind::Program(_)) {
            return Err(BadUsage::new("--work: a program of your own does its own work: drop it"));
        }
        let [loops, threads] = self.on.threads()?;
        let (threads, size) = (u64::from(threads), self.size.0);
        let described = Description {
            arrivals: Some(client::requests(self.rate)),
            passes: ["main", COUNTED]
                .map(|name| PassKind { name: name.to_owned(), settle: 0 })
                .into(),
            needs: Needs {
                descriptors: Need::new(32, 1),
                threads: Need::new(16, threads),
                maps: Need::new(128, 4 * threads),
                // Two sockets and their queues, the buffers, and a thread with its stack.
                bytes: Need::new(32 << 20, (16 << 10) + 4 * size + threads * (40 << 10)),
                space: Need::new(0, threads * (2 << 20)),
            },
            ..Description::new("arrivals", &self.flags, self.on.claim())
        };
        match runtime {
            Some(runtime) => match self.quota {
                Some(quota) => quota.applied_to(runtime)?.describe(described),
                None => runtime.describe(described),
            },
            None => Ok(Description { needs: described.needs + worker_needs(loops), ..described }),
        }
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(
        "cannot listen on 127.0.0.1: if this is a network namespace, run `ip link set lo up`",
    )?;
    let address = listener.local_addr()?;
    if let ServerKind::Program(_) = cli.on {
        strays::adopt().context("cannot watch for what the server leaves")?;
    }
    let group = cli.quota.map(QuotaGroup::new).transpose()?;
    // While there is one thread.
    let mut server = Server::fork(cli, listener, group.as_ref())?;
    run.set_measured(vec![server.pid()]);
    let driven = drive(cli, run, &mut server, address, group.as_ref());
    let driven = driven.map_err(|e| server.process.explain(e));
    drop(server);
    drop(group);
    if let ServerKind::Program(_) = cli.on {
        strays::end(|_| true).context("cannot end what the server has left")?;
    }
    driven
}

fn drive(
    cli: &Cli,
    run: &mut Run,
    server: &mut Server,
    address: SocketAddr,
    group: Option<&QuotaGroup>,
) -> anyhow::Result<()> {
    run.set_runtime(server.runtime(&cli.on)?);
    let mut client = Client::connect(cli, address)?;
    let before = group.map(QuotaGroup::periods).transpose()?;
    let requests = client::requests(cli.rate);
    while let Some(mut pass) = run.next_pass()? {
        while pass.next_iteration().is_some() {
            let before = server.cpu_time()?;
            let is_kept = pass.is_timed() && !pass.is(COUNTED);
            if !client.send_and_receive(requests, is_kept)? {
                continue;
            }
            // The server has yet to go to sleep.
            thread::sleep(Duration::from_millis(1));
            let used = server.cpu_time()? - before;
            ensure!(
                !used.is_zero(),
                "--on: the server's process used no CPU time: it must serve by itself, in the foreground"
            );
            pass.record(used / requests as u32);
        }
        run.finish(pass)?;
    }
    run.add_extra("thread_count", &server.threads().into_iter().collect());
    if let Some((group, before)) = group.zip(before) {
        let throttled = group.periods()?.throttled_since(before);
        run.add_extra("throttled_percent", &throttled.into_iter().collect());
    }
    client.times().into_iter().for_each(|(name, times)| run.add_extra(name, times));
    Ok(())
}
