//! The client: one thread sends on schedule, another receives.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::samples::Recorder;
use contract::{Interrupted, limits, signals};
use fastrand::Rng;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::prctl::set_timerslack;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, bind, connect, recv, send, setsockopt,
    socket, sockopt,
};

use crate::Cli;

/// Longest time without a response.
const SILENCE: Duration = Duration::from_secs(10);

/// Time between two looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// Connections from one address, which has some 28,000 ports: the more are taken, the longer it takes to find one.
const FROM_ONE_ADDRESS: u32 = 5_000;

/// Windows after which the rate is judged, and by how much they may take longer than the schedule.
const JUDGED: (u32, f64) = (5, 1.2);

/// Requests of a window at so many per second.
pub(crate) fn requests(rate: u32) -> u64 {
    u64::from(rate / 20).max(4)
}

/// All connections, and what was seen of them.
#[derive(Debug)]
pub(crate) struct Client {
    connections: Vec<TcpStream>,
    readable: Epoll,
    /// Of each connection, the beginning of a response whose end has not arrived.
    begun: Vec<Vec<u8>>,
    size: usize,
    rate: u32,
    rng: Rng,
    /// Number of the next request.
    next: u64,
    windows: u32,
    /// Time of all windows, by the schedule and until the last response.
    planned: Duration,
    taken: Duration,
    response: Recorder,
    sent_late: Recorder,
}

/// A window: numbers of its requests, and when each is due.
struct Window<'a> {
    first: u64,
    due: &'a [Duration],
    begun: Instant,
    /// True if a side has failed, or a signal came.
    is_over: AtomicBool,
}

impl Client {
    /// Makes all connections. Each carries one request: then the server has a task for it.
    pub(crate) fn connect(cli: &Cli, server: SocketAddr) -> anyhow::Result<Self> {
        let (tasks, size) = (cli.flags.tasks, cli.size.0 as usize);
        let mut client = Client {
            connections: Vec::with_capacity(tasks as usize),
            readable: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("epoll_create1")?,
            begun: vec![Vec::new(); tasks as usize],
            size,
            rate: cli.rate,
            // Each process has other arrivals: the interval over processes holds what chance does to a tail.
            rng: Rng::new(),
            next: 0,
            windows: 0,
            planned: Duration::ZERO,
            taken: Duration::ZERO,
            response: Recorder::default(),
            sent_late: Recorder::default(),
        };
        let (request, mut response) = (bytes_of(0, size), vec![0; size]);
        for k in 0..tasks {
            if signals::received().is_some() {
                return Err(Interrupted.into());
            }
            let connected = connect_to(server, k / FROM_ONE_ADDRESS);
            let mut stream = connected.with_context(|| limits::refused("connect", tasks))?;
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
        is_timed: bool,
    ) -> anyhow::Result<bool> {
        let gap = 1e9 / f64::from(self.rate);
        let mut at = 0.0;
        let due: Vec<Duration> = (0..requests)
            .map(|_| {
                at -= (1.0 - self.rng.f64()).ln() * gap;
                Duration::from_nanos(at as u64)
            })
            .collect();
        let first = self.next;
        self.next += requests;
        let is_over = AtomicBool::new(false);
        let window = Window { first, due: &due, begun: Instant::now(), is_over };
        let (connections, size) = (&self.connections, self.size);
        let (sent, received) = thread::scope(|scope| {
            let sender = scope.spawn(|| window.send(connections, size));
            let received = window.receive(&self.readable, connections, &mut self.begun, size);
            window.is_over.store(true, Relaxed);
            (sender.join().unwrap_or_else(|_| bail!("the sender panicked")), received)
        });
        let (late, response) = (sent?, received?);
        if signals::received().is_some() && response.len() < due.len() {
            return Ok(false);
        }
        self.windows += 1;
        self.planned += due.last().copied().unwrap_or_default();
        self.taken += window.begun.elapsed();
        if is_timed {
            late.into_iter().for_each(|time| self.sent_late.record(time.as_nanos() as u64));
            response.into_iter().for_each(|time| self.response.record(time.as_nanos() as u64));
        }
        self.ensure_reached()?;
        Ok(true)
    }

    /// Refuses a rate that is not reached.
    fn ensure_reached(&self) -> anyhow::Result<()> {
        let (windows, most) = JUDGED;
        let longer = self.taken.as_secs_f64() / self.planned.as_secs_f64();
        if self.windows >= windows && longer > most {
            let reached = f64::from(self.rate) / longer;
            bail!(
                "--rate {}: client and server together reach {reached:.0} requests/s on these CPUs: lower --rate",
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

impl Window<'_> {
    /// Sends each request when it is due; by how much each was late.
    fn send(&self, connections: &[TcpStream], size: usize) -> anyhow::Result<Vec<Duration>> {
        let sent = self.send_all(connections, size);
        if sent.is_err() {
            self.is_over.store(true, Relaxed);
        }
        sent
    }

    fn send_all(&self, connections: &[TcpStream], size: usize) -> anyhow::Result<Vec<Duration>> {
        // The usual 50 µs would make each request late.
        set_timerslack(1)?;
        let mut late = Vec::with_capacity(self.due.len());
        for (number, &due) in (self.first..).zip(self.due) {
            while let Some(early) = due.checked_sub(self.begun.elapsed()).filter(|d| !d.is_zero()) {
                if self.is_over.load(Relaxed) {
                    return Ok(late);
                }
                thread::sleep(early.min(LOOK));
            }
            late.push(self.begun.elapsed() - due);
            let connection = &connections[(number % connections.len() as u64) as usize];
            let request = bytes_of(number, size);
            let mut left = &request[..];
            while !left.is_empty() && !self.is_over.load(Relaxed) {
                match send(connection.as_raw_fd(), left, MsgFlags::MSG_DONTWAIT) {
                    Ok(sent) => left = &left[sent..],
                    // Its queue is full: the server is behind.
                    Err(Errno::EAGAIN) => thread::sleep(Duration::from_micros(100)),
                    Err(e) => return Err(e).context("cannot send a request"),
                }
            }
        }
        Ok(late)
    }

    /// Receives and checks all responses: the time of each from when its request was due.
    fn receive(
        &self,
        readable: &Epoll,
        connections: &[TcpStream],
        begun: &mut [Vec<u8>],
        size: usize,
    ) -> anyhow::Result<Vec<Duration>> {
        let mut times = Vec::with_capacity(self.due.len());
        let mut is_answered = vec![false; self.due.len()];
        let mut events = [EpollEvent::empty(); 256];
        let mut buffer = vec![0; size.max(64 << 10)];
        let mut last = Instant::now();
        while times.len() < self.due.len() {
            let count = match readable.wait(&mut events, LOOK.as_millis() as u16) {
                Err(Errno::EINTR) => 0,
                other => other.context("epoll_wait")?,
            };
            if signals::received().is_some() || self.is_over.load(Relaxed) {
                return Ok(times);
            }
            let answered = self.due.len() - times.len();
            let silence = self.due.get(times.len()).map_or(SILENCE, |due| *due + SILENCE);
            ensure!(
                count > 0 || last.elapsed() < SILENCE || self.begun.elapsed() < silence,
                "the server has not answered {answered} requests for {SILENCE:?}"
            );
            for event in &events[..count] {
                let k = event.data() as usize;
                let read = recv(connections[k].as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT);
                let read = read.context("cannot receive a response")?;
                ensure!(read > 0, "the server closed a connection");
                let now = self.begun.elapsed();
                last = Instant::now();
                begun[k].extend(&buffer[..read]);
                let whole = begun[k].len() / size * size;
                for response in begun[k][..whole].chunks(size) {
                    let place = self.place(response, k as u64, connections.len() as u64)?;
                    ensure!(!is_answered[place], "the server answered a request twice");
                    is_answered[place] = true;
                    times.push(now.saturating_sub(self.due[place]));
                }
                begun[k].drain(..whole);
            }
        }
        Ok(times)
    }

    /// Place of the request that a response answers; an error for any that was not sent over this connection.
    fn place(&self, response: &[u8], connection: u64, connections: u64) -> anyhow::Result<usize> {
        let number = response.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
        let place = number.checked_sub(self.first).filter(|k| *k < self.due.len() as u64);
        match place {
            Some(place)
                if number % connections == connection
                    && response == bytes_of(number, response.len()) =>
            {
                Ok(place as usize)
            }
            _ => bail!("the server returned something else than the request"),
        }
    }
}

/// A request of this number: nothing but that, again and again.
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
    let SocketAddr::V4(server) = server else { bail!("the server has an address of IPv6") };
    connect(socket.as_raw_fd(), &SockaddrIn::from(server))?;
    // Closed at once: thousands of connections would hold their ports for a minute (TIME_WAIT).
    setsockopt(&socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
    Ok(TcpStream::from(socket))
}
