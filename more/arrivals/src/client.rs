//! The client: one thread that sends on schedule and receives in between.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::limits;
use contract::samples::Recorder;
use fastrand::Rng;
use host::signals;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::prctl::set_timerslack;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, bind, connect, recv, send, setsockopt,
    socket, sockopt,
};
use nix::sys::time::TimeSpec;

use crate::Cli;

/// Longest time without a response.
const SILENCE: Duration = Duration::from_secs(10);

/// Longest time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// Shortest time until the client tries again to send a request for which a connection had no room.
const RETRY: Duration = Duration::from_micros(1);

/// Connections from one address, which has some 28,000 ports: the more are taken, the longer it takes to find one.
const FROM_ONE_ADDRESS: u32 = 5_000;

/// The rate is missed if the windows take so many times as long as their schedule, and so much longer: a single stall
/// of the machine takes less.
const MISSED: (f64, Duration) = (1.2, Duration::from_millis(150));

/// A window that is so late is not awaited to its end.
const LATE: Duration = Duration::from_secs(2);

/// Requests of a window at so many per second.
pub(crate) fn requests(rate: u32) -> u64 {
    u64::from(rate / 20).max(4)
}

/// All connections, and what was seen of them.
#[derive(Debug)]
pub(crate) struct Client {
    connections: Vec<TcpStream>,
    readable: Epoll,
    /// Of each connection, what is left of a request, and the beginning of a response.
    unsent: Vec<Vec<u8>>,
    received: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    size: usize,
    rate: u32,
    rng: Rng,
    /// Number of the window's first request.
    first: u64,
    /// Time of all windows, by the schedule and until the last response.
    planned: Duration,
    taken: Duration,
    response: Recorder,
    sent_late: Recorder,
}

impl Client {
    /// Makes all connections. Each carries one request: then the server has a task for it.
    pub(crate) fn connect(cli: &Cli, server: SocketAddr) -> anyhow::Result<Self> {
        let (tasks, size) = (cli.flags.tasks, cli.size.0 as usize);
        // The usual 50 µs would make each request late.
        set_timerslack(1)?;
        let mut client = Client {
            connections: Vec::with_capacity(tasks as usize),
            readable: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("epoll_create1")?,
            unsent: vec![Vec::new(); tasks as usize],
            received: vec![Vec::new(); tasks as usize],
            buffer: vec![0; size.max(64 << 10)],
            size,
            rate: cli.rate,
            // Each process has other arrivals: the interval over processes holds what chance does to a tail.
            rng: Rng::new(),
            first: 0,
            planned: Duration::ZERO,
            taken: Duration::ZERO,
            response: Recorder::default(),
            sent_late: Recorder::default(),
        };
        let (request, mut response) = (bytes_of(0, size), vec![0; size]);
        for k in 0..tasks {
            let connected = connect_to(server, k / FROM_ONE_ADDRESS);
            let mut stream =
                connected.with_context(|| limits::refused("connect", "--tasks", tasks))?;
            stream.set_read_timeout(Some(SILENCE))?;
            stream.write_all(&request)?;
            stream.read_exact(&mut response).context("the server does not answer")?;
            ensure!(response == request, "the server returned something else than the request");
            let event = EpollEvent::new(EpollFlags::EPOLLIN, k.into());
            client.readable.add(&stream, event).context("epoll_ctl")?;
            client.connections.push(stream);
        }
        Ok(client)
    }

    /// Sends so many requests on schedule, and receives the responses; false if a signal ended it early.
    pub(crate) fn send_and_receive(
        &mut self,
        requests: u64,
        is_kept: bool,
    ) -> anyhow::Result<bool> {
        let gap = 1e9 / f64::from(self.rate);
        let mut at = 0.0;
        let mut next_due = || {
            at -= (1.0 - self.rng.f64()).ln() * gap;
            Duration::from_nanos(at as u64)
        };
        let due: Vec<Duration> = (0..requests).map(|_| next_due()).collect();
        let planned = due.last().copied().unwrap_or_default();
        let given_up = planned + LATE;
        let mut is_answered = vec![false; due.len()];
        let (mut sent, mut left) = (0, due.len());
        let begun = Instant::now();
        let mut last = begun;
        while left > 0 {
            while let Some(&due) = due.get(sent).filter(|due| **due <= begun.elapsed()) {
                if !self.send(self.first + sent as u64)? {
                    break;
                }
                if is_kept {
                    self.sent_late.record((begun.elapsed() - due).as_nanos() as u64);
                }
                sent += 1;
            }
            let early = due.get(sent).map_or(LOOK, |due| due.saturating_sub(begun.elapsed()));
            let connections = self.wait(early.clamp(RETRY, LOOK))?;
            if signals::received().is_some() {
                return Ok(false);
            }
            if !connections.is_empty() || sent == due.len() - left {
                last = Instant::now();
            }
            let silence = last.elapsed();
            ensure!(silence < SILENCE, "the server has not answered for {SILENCE:?}");
            let taken = last + silence - begun;
            if taken > given_up {
                self.ensure_reached(planned, taken, self.first + (due.len() - left) as u64)?;
            }
            for connection in connections {
                self.receive(connection)?;
                let now = begun.elapsed();
                for place in self.answered(connection, sent)? {
                    ensure!(!is_answered[place], "the server answered a request twice");
                    is_answered[place] = true;
                    left -= 1;
                    if is_kept {
                        self.response.record((now - due[place]).as_nanos() as u64);
                    }
                }
            }
        }
        let taken = begun.elapsed();
        self.first += requests;
        self.ensure_reached(planned, taken, self.first)?;
        self.planned += planned;
        self.taken += taken;
        Ok(true)
    }

    /// Sends a request; false if the connection's queue is full, since the server is behind.
    fn send(&mut self, number: u64) -> anyhow::Result<bool> {
        let connection = (number % self.connections.len() as u64) as usize;
        let unsent = &mut self.unsent[connection];
        if unsent.is_empty() {
            *unsent = bytes_of(number, self.size);
        }
        match send(self.connections[connection].as_raw_fd(), unsent, MsgFlags::MSG_DONTWAIT) {
            Ok(count) => drop(unsent.drain(..count)),
            Err(Errno::EAGAIN) => {}
            Err(e) => return Err(e).context("cannot send a request"),
        }
        Ok(unsent.is_empty())
    }

    /// Connections that have something to receive, at once or within this time.
    fn wait(&self, time: Duration) -> anyhow::Result<Vec<usize>> {
        // epoll_wait(2) counts in ms.
        let mut readable = [PollFd::new(self.readable.0.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut readable, Some(TimeSpec::from_duration(time)), None) {
            Ok(0) | Err(Errno::EINTR) => return Ok(Vec::new()),
            other => other.context("ppoll")?,
        };
        let mut events = [EpollEvent::empty(); 256];
        let count = self.readable.wait(&mut events, EpollTimeout::ZERO).context("epoll_wait")?;
        Ok(events[..count].iter().map(|event| event.data() as usize).collect())
    }

    /// Takes what a connection has received.
    fn receive(&mut self, connection: usize) -> anyhow::Result<()> {
        let stream = self.connections[connection].as_raw_fd();
        let count = recv(stream, &mut self.buffer, MsgFlags::MSG_DONTWAIT);
        let count = count.context("cannot receive a response")?;
        ensure!(count > 0, "the server closed a connection");
        self.received[connection].extend(&self.buffer[..count]);
        Ok(())
    }

    /// Checks the responses that a connection has received completely. Returns the places of their requests in the
    /// window, of which `sent` were sent.
    fn answered(&mut self, connection: usize, sent: usize) -> anyhow::Result<Vec<usize>> {
        let received = &mut self.received[connection];
        let whole = received.len() / self.size * self.size;
        let responses = received.drain(..whole).collect::<Vec<u8>>();
        let place = |response: &[u8]| {
            let number =
                response.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
            let place = number.checked_sub(self.first).filter(|place| *place < sent as u64);
            let is_from_here = number % self.connections.len() as u64 == connection as u64;
            place
                .filter(|_| is_from_here && response == bytes_of(number, self.size))
                .map(|place| place as usize)
                .context("the server returned something else than the request")
        };
        responses.chunks(self.size).map(place).collect()
    }

    /// Refuses a rate that is not reached. `planned` and `taken` are the current window's times; `answered` counts the
    /// requests of all windows.
    fn ensure_reached(
        &self,
        planned: Duration,
        taken: Duration,
        answered: u64,
    ) -> anyhow::Result<()> {
        let (times, excess) = MISSED;
        let (planned, taken) = (self.planned + planned, self.taken + taken);
        if taken > planned.mul_f64(times) && taken > planned + excess {
            let reached = (answered as f64 / taken.as_secs_f64()).ceil();
            bail!(
                "--rate {}: client and server together reach only {reached} requests/s in the CPU time that they may use: lower it, or what the server does per request",
                self.rate
            );
        }
        Ok(())
    }

    /// Times of the timed windows, by name.
    pub(crate) fn times(&self) -> [(&'static str, &Recorder); 2] {
        [("response", &self.response), ("sent_late", &self.sent_late)]
    }
}

/// A request: its number, repeated to fill its size.
fn bytes_of(number: u64, size: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().repeat(size.div_ceil(size_of::<u64>()));
    bytes.truncate(size);
    bytes
}

/// Connects to the server from the `k`th address of the loopback.
fn connect_to(server: SocketAddr, k: u32) -> anyhow::Result<TcpStream> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    let from = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::from(0x7f00_0001 + k), 0));
    // The port is chosen when it connects: it may serve connections to several servers.
    setsockopt(&socket, sockopt::IpBindAddressNoPort, &true)?;
    bind(socket.as_raw_fd(), &from)?;
    let SocketAddr::V4(server) = server else { bail!("the server has an IPv6 address") };
    connect(socket.as_raw_fd(), &SockaddrIn::from(server))?;
    // Closed at once: thousands of connections would hold their ports for a minute (TIME_WAIT).
    setsockopt(&socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
    Ok(TcpStream::from(socket))
}
