//! Wakes of a thread that sleeps in the kernel. Rings are set up without flags. Without another side the wait finds the
//! signal: the system calls of the signal, and of the look for it, if there is one.

#![expect(unsafe_code, reason = "the kernel is given memory to read and write")]

use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, ensure};
use brigade::StartLatch;
use brigade::futex;
use brigade::restrict;
use contract::Run;
use io_uring::{IoUring, Probe, opcode, types};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::place::{OtherSide, Place, shared};
use crate::{Cli, STACK};

/// A way to wake a thread: both ends of it.
pub(crate) trait Wake: 'static {
    type To: Send + 'static;
    type From: Send + 'static;

    fn new() -> anyhow::Result<(Self::To, Self::From)>;

    fn signal(to: &mut Self::To) -> io::Result<()>;

    fn wait(from: &mut Self::From) -> io::Result<()>;
}

/// Both sides in their places. The driver signals, and waits, N times in each iteration; if the other side is here,
/// that is done for it too.
pub(crate) fn measure<W: Wake>(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (n, place, ended) = (cli.flags.tasks, Place::new(cli)?, Arc::new(AtomicBool::new(false)));
    let ((mut to, mut theirs), (mut back, mut from)) = (W::new()?, W::new()?);
    if cli.other_side == OtherSide::None {
        return place.serve_thread(run, || {
            let begun = Instant::now();
            for _ in 0..n {
                W::signal(&mut to)?;
                W::wait(&mut theirs)?;
                W::signal(&mut back)?;
                W::wait(&mut from)?;
            }
            Ok((begun, Instant::now()))
        });
    }
    let (is_over, there, mut latch) = (Arc::clone(&ended), place.there, StartLatch::new(1));
    let guard = latch.guard()?;
    let other = STACK.spawn(1, move || {
        there.map_or(Ok(()), |cpu| restrict(&[cpu])).context("cannot pin a thread")?;
        guard.started();
        answer::<W>(back, theirs, &is_over)
    })?;
    latch.wait()?;
    place.serve_thread(run, || {
        let begun = Instant::now();
        for _ in 0..n {
            W::signal(&mut to)?;
            W::wait(&mut from)?;
        }
        Ok((begun, Instant::now()))
    })?;
    ended.store(true, Ordering::Relaxed);
    W::signal(&mut to)?;
    let (answered, expected) = (brigade::join(other)??, run.visits());
    ensure!(answered == expected, "{answered} signals were answered, expected {expected}");
    Ok(())
}

/// The other side: waits, and signals, until the end. Returns how often.
fn answer<W: Wake>(mut to: W::To, mut from: W::From, ended: &AtomicBool) -> anyhow::Result<u64> {
    let mut answered = 0;
    loop {
        W::wait(&mut from)?;
        if ended.load(Ordering::Relaxed) {
            return Ok(answered);
        }
        W::signal(&mut to)?;
        answered += 1;
    }
}

/// What makes both ends, their types, a signal, and a wait.
macro_rules! wake {
    ($name:ident: $make:expr, $to:ty, $from:ty, |$sender:pat_param| $signal:expr, |$receiver:pat_param| $wait:expr) => {
        pub(crate) struct $name;

        impl Wake for $name {
            type To = $to;
            type From = $from;

            fn new() -> anyhow::Result<(Self::To, Self::From)> {
                Ok($make)
            }

            fn signal($sender: &mut Self::To) -> io::Result<()> {
                $signal
            }

            fn wait($receiver: &mut Self::From) -> io::Result<()> {
                $wait
            }
        }
    };
}

wake!(Futex: shared(AtomicU32::new(0)), Arc<AtomicU32>, Arc<AtomicU32>, |word| {
    word.store(1, Ordering::Release);
    futex::wake(word);
    Ok(())
}, |word| {
    while word.swap(0, Ordering::Acquire) == 0 {
        futex::wait(word, 0);
    }
    Ok(())
});

/// A flag with a condition variable.
type Flag = (Mutex<bool>, std::sync::Condvar);

wake!(Condvar: shared(Flag::default()), Arc<Flag>, Arc<Flag>, |flag| {
    *flag.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    flag.1.notify_one();
    Ok(())
}, |flag| {
    let is_set = flag.0.lock().unwrap_or_else(PoisonError::into_inner);
    let is_set = flag.1.wait_while(is_set, |is_set| !*is_set);
    *is_set.unwrap_or_else(PoisonError::into_inner) = false;
    Ok(())
});

wake!(Pipe: {
    let (reader, writer) = pipe().context("cannot make a pipe")?;
    (writer, (event_loop(&reader)?, reader))
}, PipeWriter, (Epoll, PipeReader), |to| to.write_all(&[1]), |(epoll, from)| {
    sleep(epoll)?;
    from.read_exact(&mut [0])
});

/// An event loop that waits for a descriptor.
fn event_loop(fd: impl AsFd) -> anyhow::Result<Epoll> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("cannot make an epoll")?;
    epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, 0)).context("cannot add to an epoll")?;
    Ok(epoll)
}

fn sleep(epoll: &Epoll) -> io::Result<()> {
    loop {
        match epoll.wait(&mut [EpollEvent::empty()], EpollTimeout::NONE) {
            Ok(0) | Err(Errno::EINTR) => {}
            other => return other.map(drop).map_err(io::Error::from),
        }
    }
}

/// A ring, if it has IORING_OP_MSG_RING.
fn ring() -> anyhow::Result<IoUring> {
    let ring = IoUring::new(4).context("io_uring is not available: io_uring_setup(2)")?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).context("io_uring is not available: no probe")?;
    let is_there = probe.is_supported(opcode::MsgRingData::CODE);
    ensure!(is_there, "io_uring is not available: this kernel has no IORING_OP_MSG_RING");
    Ok(ring)
}

wake!(UringMsgRing: {
    let (here, (to, from)) = (ring()?, shared(ring()?));
    ((here, to), from)
}, (IoUring, Arc<IoUring>), Arc<IoUring>, |(here, there)| {
    let message = opcode::MsgRingData::new(types::Fd(there.as_raw_fd()), 1, 0, None).build();
    // SAFETY: it points to no memory.
    unsafe { here.submission().push(&message) }.map_err(io::Error::other)?;
    let completion = loop {
        match here.submit_and_wait(1) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        if let Some(completion) = here.completion().next() {
            break completion.result();
        }
    };
    // A negative one is an errno.
    if completion < 0 { Err(io::Error::from_raw_os_error(-completion)) } else { Ok(()) }
}, |from| {
    // SAFETY: this side alone takes the completions of its ring: the other one has its number.
    let is_taken = || unsafe { from.completion_shared() }.next().is_some();
    while !is_taken() {
        match from.submitter().submit_and_wait(1) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
    }
    Ok(())
});
