use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::yield_now;

use chain::{Injector, MemoryFlags, Tokens};
use contract::units::Bytes;
use runtime::DriverKind;

use super::*;
use crate::special::WithBacklog;
use crate::{Executor, Tokio, minimal};

/// Runs a test on each of these links with each executor, and fails where it does not end.
macro_rules! each {
    ($test:ident) => {
        each!($test, Unbounded, Oneshot);
        each_that_holds_one!($test);
    };
    ($test:ident, $($link:ident),+) => {$(
        ends(concat!(stringify!($link), ", minimal"), || {
            $test::<$link>(&minimal::Executor::new());
        });
        ends(concat!(stringify!($link), ", current thread"), || {
            $test::<$link>(&on_tokio(&mut Builder::new_current_thread()));
        });
        ends(concat!(stringify!($link), ", two workers"), || {
            $test::<$link>(&on_tokio(Builder::new_multi_thread().worker_threads(2)));
        });
    )+};
}

fn on_tokio(builder: &mut Builder) -> Tokio {
    Tokio { runtime: builder.build().unwrap(), driver: DriverKind::Spawned }
}

macro_rules! each_that_holds_one {
    ($test:ident) => {
        each!($test, Mpsc, AsyncChannel, Notify, Mutex);
        ends("slot, minimal", || $test::<Slot>(&minimal::Executor::new()));
    };
}

fn ends(what: &str, test: fn()) {
    let (over, wait) = channel::<()>();
    let thread = thread::spawn(move || {
        // Dropped also where the test panics.
        let _over = over;
        test();
    });
    let waited = wait.recv_timeout(Duration::from_secs(60));
    assert_eq!(waited, Err(RecvTimeoutError::Disconnected), "{what} hangs");
    assert!(thread.join().is_ok(), "{what}");
}

/// Long enough for another task to wait, most of the time.
async fn a_moment() {
    for _ in 0..20 {
        yield_now().await;
    }
}

#[test]
fn numbers_come_out_in_the_order_in_which_they_went_in() {
    fn test<L: Link<usize>>(executor: &impl Executor) {
        executor.block_on(async {
            let (mut sender, mut receiver) = L::link(1);
            let putter = executor.spawn(async move {
                for number in 0..20_000 {
                    sender.put(number).await?;
                }
                Ok(())
            });
            let taker = executor.spawn(async move {
                let mut numbers = Vec::new();
                while let Some(number) = receiver.take().await {
                    numbers.push(number);
                }
                Ok(numbers)
            });
            executor.join(putter).await.unwrap();
            let numbers = executor.join(taker).await.unwrap();
            assert!(numbers.into_iter().eq(0..20_000));
        });
    }
    each!(test);
}

#[test]
fn the_end_comes_after_what_was_put_in() {
    fn test<L: Link<usize>>(executor: &impl Executor) {
        executor.block_on(async {
            let (mut sender, mut receiver) = L::link(1);
            sender.put(7).await.unwrap();
            drop(sender);
            assert_eq!(receiver.take().await, Some(7));
            assert_eq!(receiver.take().await, None);
        });
    }
    each!(test);
}

#[test]
fn without_a_receiver_nothing_goes_in() {
    fn test<L: Link<usize>>(executor: &impl Executor) {
        executor.block_on(async {
            let (mut sender, receiver) = L::link(1);
            drop(receiver);
            assert!(sender.put(1).await.is_err());
        });
    }
    each!(test);
}

#[test]
fn an_end_that_comes_late_is_seen_by_who_waits() {
    fn test<L: Link<usize>>(executor: &impl Executor) {
        executor.block_on(async {
            let (sender, mut receiver) = L::link(1);
            let taker = executor.spawn(async move { Ok(receiver.take().await) });
            a_moment().await;
            drop(sender);
            assert_eq!(executor.join(taker).await.unwrap(), None);
        });
    }
    each!(test);
}

#[test]
fn one_number_fills_it_and_a_sender_that_waits_sees_the_end() {
    fn test<L: Link<usize>>(executor: &impl Executor) {
        executor.block_on(async {
            let (mut sender, mut receiver) = L::link(1);
            let (full, wait) = channel();
            let putter = executor.spawn(async move {
                for number in 0..2 {
                    sender.put(number).await?;
                    full.send(number)?;
                }
                Ok(sender.put(2).await.is_err())
            });
            let mut first = wait.try_recv();
            while first == Err(TryRecvError::Empty) {
                a_moment().await;
                thread::sleep(Duration::from_millis(1));
                first = wait.try_recv();
            }
            a_moment().await;
            thread::sleep(Duration::from_millis(5));
            assert_eq!((first, wait.try_recv()), (Ok(0), Err(TryRecvError::Empty)));
            assert_eq!(receiver.take().await, Some(0));
            a_moment().await;
            drop(receiver);
            assert!(executor.join(putter).await.unwrap_or(true));
        });
    }
    each_that_holds_one!(test);
}

/// The end comes while the other side is on its way to wait, or not yet, or already there.
#[test]
fn an_end_at_any_moment_is_seen() {
    fn test<L: Link<usize>>(executor: &impl Executor) {
        executor.block_on(async {
            for round in 0..300 {
                let (sender, mut receiver) = L::link(1);
                let taker = executor.spawn(async move { Ok(receiver.take().await) });
                let (mut full, dropped) = L::link(1);
                let putter = executor.spawn(async move {
                    let first = full.put(0).await;
                    Ok(first.is_err() || full.put(1).await.is_err())
                });
                (0..round * 20).for_each(|_| std::hint::spin_loop());
                drop((sender, dropped));
                assert_eq!(executor.join(taker).await.unwrap(), None);
                assert!(executor.join(putter).await.unwrap());
            }
        });
    }
    each_that_holds_one!(test);
}

/// Each holds the next one: were they dropped so, the stack would not suffice.
#[test]
fn numbers_that_nobody_takes_are_dropped_one_by_one() {
    fn test<L: Link<usize>>(executor: &impl Executor) {
        executor.block_on(async {
            let (mut sender, receiver) = L::link(1);
            for number in 0..1_000_000 {
                sender.put(number).await.unwrap();
            }
            drop(receiver);
            assert!(sender.put(0).await.is_err());
        });
    }
    each!(test, Unbounded, Oneshot);
}

/// A token that counts when it is dropped.
struct Told(Arc<AtomicU32>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_token_that_nobody_takes_is_dropped_once() {
    fn test<L: Link<Told>>(executor: &impl Executor) {
        let dropped = Arc::new(AtomicU32::new(0));
        let token = || Told(Arc::clone(&dropped));
        let times = || dropped.load(Ordering::Relaxed);
        executor.block_on(async {
            let (mut sender, receiver) = L::link(1);
            sender.put(token()).await.unwrap();
            drop((sender, receiver));
            assert_eq!(times(), 1);

            let (mut sender, mut receiver) = L::link(1);
            sender.put(token()).await.unwrap();
            drop(receiver.take().await);
            drop(receiver);
            assert_eq!(times(), 2);
            // An error may bring it back.
            drop(sender.put(token()).await);
            drop(sender);
            assert_eq!(times(), 3);
        });
    }
    each!(test);
}

#[test]
fn the_first_task_takes_the_backlog_after_what_it_was_sent() {
    let flags = MemoryFlags {
        tokens: 3,
        bytes: Bytes(1),
        feed: Injector::FirstTask,
        touch: Bytes(0),
        shuffle: None,
        idle: 0,
    };
    let executor = minimal::Executor::new();
    executor.block_on(async {
        let backlog = flags.backlog().unwrap();
        let mut tokens = Tokens::new(&flags, Some(backlog.clone()));
        let (mut sender, receiver) = <Mpsc as Link<usize>>::link(1);
        let mut first = WithBacklog::new(receiver, &backlog);
        for start in [10, 20] {
            let (_, all) = tokens.set_out(start);
            sender.put(all[0]).await.unwrap();
            for k in 0..3 {
                assert_eq!(first.take().await, Some(start as usize + k));
            }
        }
        drop(sender);
        assert_eq!(first.take().await, None);
    });
}
