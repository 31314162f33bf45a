//! Who serves: a process of its own, or tasks of the program's runtime.

#![expect(unsafe_code, reason = "the server is forked")]

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::ValueEnum;
use harness::limits::{self, Demand};
use harness::{console, forked};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use runtime::Plan;
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::content::{Content, Outline};
use crate::misdeed::Misdeed;
use crate::server::{self, Framing, Offer};

/// Where the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Place {
    /// in a process of its own, forked by this one, whose CPU time and memory are not counted
    Process,
    /// among the tasks of the same runtime, whose figures then have both
    SameRuntime,
}

/// What a server is to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) outline: Outline,
    pub(crate) piece: u64,
    pub(crate) framing: Framing,
    pub(crate) misdeed: Option<Misdeed>,
}

impl Order {
    fn offer(self) -> Arc<Offer> {
        Arc::new(Offer {
            content: Content::new(self.outline, self.piece),
            framing: self.framing,
            misdeed: self.misdeed,
        })
    }
}

/// A server that answers, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    process: Option<Pid>,
}

/// What is told where there is no way to the server.
pub(crate) const NO_LOOPBACK: &str = "there is no way to 127.0.0.1, which a network namespace has only once its loopback is up (`ip link set lo up`)";

/// What the server's process is called, as in ps(1).
const NAME: &std::ffi::CStr = c"body-server";

impl Server {
    /// Forks a server, on a runtime of its own. Call it while this process has one thread.
    ///
    /// # Errors
    /// Where it cannot be had: no loopback, no process.
    pub(crate) fn fork(order: Order, plan: &Plan, demand: &Demand) -> anyhow::Result<Self> {
        let (listener, address) = listen()?;
        forked::keep_the_ended()?;
        let life = |settled: nix::Result<()>| {
            let outcome = settled
                .map_err(anyhow::Error::new)
                .and_then(|()| live(listener, order, plan));
            let Err(e) = outcome;
            console::say(format_args!("body-stream: the server: {e:#}"));
            1
        };
        // SAFETY: this process has one thread; the runtime is built later.
        let child = unsafe { forked::fork_off(life) };
        let child = child
            .map_err(|e| limits::explain_of("servers", "fork a server", 0u32, 1u32, e, demand))?;
        Ok(Server {
            address,
            process: Some(child),
        })
    }

    /// Has tasks of this runtime serve.
    ///
    /// # Errors
    /// Where there is no loopback.
    pub(crate) fn among(runtime: &Runtime, order: Order) -> anyhow::Result<Self> {
        let (listener, address) = listen()?;
        listener.set_nonblocking(true)?;
        let _entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        runtime.spawn(async move {
            let Err(e) = server::serve(listener, order.offer()).await;
            console::say(format_args!("body-stream: the server: {e:#}"));
        });
        Ok(Server {
            address,
            process: None,
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds to an error of a connection what has become of the server, if it has ended.
    pub(crate) fn explain(&mut self, error: anyhow::Error) -> anyhow::Error {
        let Some(child) = self.process else {
            return error;
        };
        let ended = match forked::end_so_far(child) {
            Ok(None) => return error,
            Ok(Some(WaitStatus::Signaled(_, signal, _))) => forked::killed_by(signal).to_string(),
            Ok(Some(WaitStatus::Exited(_, status))) => format!("ended with status {status}"),
            Ok(Some(status)) => format!("ended in an unknown way: {status:?}"),
            Err(e) => return error.context(format!("the server: {e:#}")),
        };
        // Its number may be another's from now on.
        self.process = None;
        error.context(format!("the server was {ended}").replace("was ended", "ended"))
    }
}

/// The server has nothing to lose, and nothing to tell.
impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = self.process {
            // It fails where the child has ended by itself, which is awaited all the same.
            let _ = kill(child, Signal::SIGKILL);
            if let Err(e) = forked::await_end(child) {
                console::say(format_args!("body-stream: the server: {e:#}"));
            }
        }
    }
}

fn listen() -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(NO_LOOPBACK)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// The whole life of the server's process.
fn live(listener: TcpListener, order: Order, plan: &Plan) -> anyhow::Result<Infallible> {
    // Only for people who look.
    let _ = prctl::set_name(NAME);
    listener.set_nonblocking(true)?;
    let runtime = plan.build(true)?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let serving = tokio::spawn(server::serve(listener, order.offer()));
        match runtime::join(serving).await {
            Err(e) => bail!(e),
        }
    })
}
