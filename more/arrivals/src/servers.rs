//! The servers. Each has one thing more than the one that it hangs on:
//!
//! ```text
//! io                              reads and writes, with no wait for readiness
//! └── epoll                       waits for what is readable, in one thread
//!     ├── epoll-per-cpu           a thread and an epoll for each CPU
//!     │   └── epoll-pool          these threads share one epoll
//!     │       └── thread          a thread for each connection, which waits in its read
//!     └── tokio-current-thread    a task for each connection, and a runtime
//!         └── tokio --workers 1   the runtime that moves tasks between workers
//!             └── tokio           a worker for each CPU
//!                 └── tokio-spawn a task for each request, too
//! ```

use std::convert::Infallible;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;

/// Most requests that the server without a wait for each answers in a row, and their largest size.
const MOST_AT_ONCE: usize = 50;
const ROOM: usize = 4 << 10;

/// Most events of an epoll_wait(2).
const EVENTS: usize = 256;

/// What each server does for a request: it reads this many bytes, multiplies so many times, and writes them back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    pub(crate) size: usize,
    pub(crate) multiplications: u64,
}

impl Echo {
    /// Room for a request.
    fn room(self) -> Vec<u8> {
        vec![0; self.size]
    }

    /// Waits for a request if it has to, and answers it.
    fn answer(self, mut stream: &TcpStream, request: &mut [u8]) -> io::Result<()> {
        stream.read_exact(request)?;
        multiply(self.multiplications);
        stream.write_all(request)
    }
}

/// Multiplies so many times. No compiler finds a shorter way to the same number.
fn multiply(times: u64) {
    black_box((0..times).fold(black_box(3), |x: u64, _| x.wrapping_mul(x).wrapping_add(5)));
}

/// How many multiplications take so long, by the fastest of some tries.
pub(crate) fn multiplications(time: Duration) -> u64 {
    const TRY: u64 = 100_000;
    if time.is_zero() {
        return 0;
    }
    let tries = (0..20).map(|_| {
        let begun = Instant::now();
        multiply(TRY);
        begun.elapsed()
    });
    let fastest = tries.min().unwrap_or_default().max(Duration::from_nanos(1));
    (time.as_secs_f64() / fastest.as_secs_f64() * TRY as f64).round() as u64
}

/// The I/O alone: it waits until the last of many requests is there, and then answers all of them. The client sends to
/// one connection after the other, and so many requests in a window.
pub(crate) fn io_alone(
    listener: &TcpListener,
    connections: usize,
    window: usize,
    echo: Echo,
) -> anyhow::Result<Infallible> {
    let mut request = echo.room();
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        let stream = accept(listener)?;
        // The client sends one before it connects again.
        echo.answer(&stream, &mut request).context("cannot answer")?;
        streams.push(stream);
    }
    // What the kernel has no room for is not sent before what came earlier is read.
    let most = if echo.size <= ROOM { MOST_AT_ONCE } else { 1 };
    let mut answered = 0;
    loop {
        let (place, left) = (answered % connections, window - answered % window);
        let streams = &streams[place..connections.min(place + left.min(most))];
        let is_there = streams[streams.len() - 1].peek(&mut [0]).is_ok_and(|count| count > 0);
        if !is_there || !streams.iter().all(|stream| echo.answer(stream, &mut request).is_ok()) {
            be_ended();
        }
        answered += streams.len();
    }
}

/// So many threads, each with an event loop, over so many epolls, to which the connections go in turn.
pub(crate) fn event_loops(
    listener: &TcpListener,
    connections: usize,
    echo: Echo,
    threads: usize,
    epolls: usize,
) -> anyhow::Result<Infallible> {
    let streams = (0..connections).map(|_| OnceLock::new());
    let streams: &[OnceLock<TcpStream>] = streams.collect::<Vec<_>>().leak();
    let epolls = (0..epolls).map(|_| Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC));
    let epolls: &[Epoll] = epolls.collect::<Result<Vec<_>, _>>().context("epoll_create1")?.leak();
    let is_shared = threads > epolls.len();
    for epoll in epolls.iter().cycle().take(threads) {
        let body = move || event_loop(epoll, streams, echo, is_shared);
        thread::Builder::new().spawn(body).context("cannot create a thread")?;
    }
    for ((k, place), epoll) in streams.iter().enumerate().zip(epolls.iter().cycle()) {
        let stream = accept(listener)?;
        let stream = place.get_or_init(|| stream);
        epoll.add(stream, readable(k as u64, is_shared)).context("epoll_ctl")?;
    }
    be_ended()
}

fn event_loop(epoll: &Epoll, streams: &[OnceLock<TcpStream>], echo: Echo, is_shared: bool) {
    let mut request = echo.room();
    let mut events = [EpollEvent::empty(); EVENTS];
    loop {
        let count = match epoll.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            other => other.expect("an epoll that is open and has room for events"),
        };
        for event in &events[..count] {
            let stream = streams[event.data() as usize].get().expect("it was added to the epoll");
            if echo.answer(stream, &mut request).is_err() {
                return;
            }
            if is_shared {
                let mut again = readable(event.data(), true);
                epoll.modify(stream, &mut again).expect("it is in the epoll");
            }
        }
    }
}

/// A connection that is readable. In a shared epoll, one thread is told, once: two would mix their answers.
fn readable(number: u64, is_shared: bool) -> EpollEvent {
    let once = if is_shared { EpollFlags::EPOLLONESHOT } else { EpollFlags::empty() };
    EpollEvent::new(EpollFlags::EPOLLIN | once, number)
}

pub(crate) fn thread_per_connection(
    listener: &TcpListener,
    echo: Echo,
) -> anyhow::Result<Infallible> {
    loop {
        let stream = accept(listener)?;
        let body = move || {
            let mut request = echo.room();
            while echo.answer(&stream, &mut request).is_ok() {}
        };
        thread::Builder::new().spawn(body).context("cannot create a thread: lower --tasks")?;
    }
}

/// The next connection.
fn accept(listener: &TcpListener) -> anyhow::Result<TcpStream> {
    let (stream, _) = listener.accept().context("cannot accept")?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Waits for the client, which ends this process. It has closed its connections, or none is to come.
fn be_ended() -> ! {
    loop {
        thread::park();
    }
}

pub(crate) async fn task_per_connection(
    listener: TcpListener,
    echo: Echo,
    spawns: bool,
) -> anyhow::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept")?;
        stream.set_nodelay(true)?;
        if spawns {
            tokio::spawn(task_per_request(stream, echo));
        } else {
            tokio::spawn(respond(stream, echo));
        }
    }
}

async fn respond(mut stream: tokio::net::TcpStream, echo: Echo) {
    let mut request = echo.room();
    while stream.read_exact(&mut request).await.is_ok() {
        multiply(echo.multiplications);
        // The client sees that a connection is closed, and says so.
        if stream.write_all(&request).await.is_err() {
            return;
        }
    }
}

async fn task_per_request(stream: tokio::net::TcpStream, echo: Echo) {
    let (mut reader, writer) = stream.into_split();
    let writer = Arc::new(Mutex::new(writer));
    let mut request = echo.room();
    while reader.read_exact(&mut request).await.is_ok() {
        let (writer, response) = (Arc::clone(&writer), request.clone());
        tokio::spawn(async move {
            multiply(echo.multiplications);
            // A closed connection ends the reader.
            let _ = writer.lock().await.write_all(&response).await;
        });
    }
}
