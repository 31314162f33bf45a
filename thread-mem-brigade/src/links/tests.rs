use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::*;

/// Runs a test on each kind of link, and fails where it does not end.
macro_rules! each {
    ($test:ident) => {
        ends(concat!(stringify!($test), ", futex"), $test::<Futex>);
        ends(concat!(stringify!($test), ", park"), $test::<Park>);
        ends(concat!(stringify!($test), ", mpsc"), $test::<Mpsc>);
        ends(concat!(stringify!($test), ", condvar"), $test::<Condvar>);
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

/// Long enough for another thread to fall asleep, most of the time.
fn a_moment() {
    thread::sleep(Duration::from_millis(5));
}

#[test]
fn numbers_come_out_in_the_order_in_which_they_went_in() {
    fn test<L: Link<usize>>() {
        let (mut sender, mut receiver) = L::link(1);
        let numbers = 0..20_000;
        let sent = numbers.clone();
        let thread = thread::spawn(move || sent.into_iter().try_for_each(|n| sender.put(n)));
        assert!(numbers.eq(std::iter::from_fn(|| receiver.take())));
        thread.join().unwrap().unwrap();
    }
    each!(test);
}

#[test]
fn no_wake_up_is_lost_in_many_rounds() {
    fn test<L: Link<usize>>() {
        let (mut there, mut upstream) = L::link(1);
        let (mut downstream, mut back) = L::link(1);
        let thread = thread::spawn(move || {
            while let Some(number) = upstream.take() {
                downstream.put(number + 1).unwrap();
            }
        });
        for round in 0..10_000 {
            there.put(round).unwrap();
            assert_eq!(back.take(), Some(round + 1));
        }
        drop(there);
        assert_eq!(back.take(), None);
        thread.join().unwrap();
    }
    each!(test);
}

#[test]
fn what_was_sent_is_received_before_the_end() {
    fn test<L: Link<usize>>() {
        let (mut sender, mut receiver) = L::link(1);
        sender.put(7).unwrap();
        drop(sender);
        assert_eq!(receiver.take(), Some(7));
        assert_eq!(receiver.take(), None);
        assert_eq!(receiver.take(), None);
    }
    each!(test);
}

#[test]
fn a_receiver_that_waits_learns_of_the_end() {
    fn test<L: Link<usize>>() {
        let (sender, mut receiver) = L::link(1);
        let thread = thread::spawn(move || receiver.take());
        a_moment();
        drop(sender);
        assert_eq!(thread.join().unwrap(), None);
    }
    each!(test);
}

#[test]
fn a_sender_without_a_receiver_gets_an_error() {
    fn test<L: Link<usize>>() {
        let (mut sender, receiver) = L::link(1);
        drop(receiver);
        assert_eq!(sender.put(1).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(sender.put(1).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
    each!(test);
}

#[test]
fn a_sender_that_waits_for_room_learns_that_there_will_be_none() {
    fn test<L: Link<usize>>() {
        let (mut sender, receiver) = L::link(1);
        let (full, wait) = channel();
        let thread = thread::spawn(move || {
            sender.put(1).unwrap();
            full.send(()).unwrap();
            sender.put(2)
        });
        wait.recv().unwrap();
        a_moment();
        assert!(!thread.is_finished(), "a link holds one number");
        drop(receiver);
        let error = thread.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
    each!(test);
}

/// The end comes while the other side is on its way to sleep, or not yet, or already there.
#[test]
fn an_end_at_any_moment_is_seen() {
    fn test<L: Link<usize>>() {
        for round in 0..300 {
            let (sender, mut receiver) = L::link(1);
            let taker = thread::spawn(move || receiver.take());
            let (mut full, dropped) = L::link(1);
            let putter = thread::spawn(move || (0..2).try_for_each(|n| full.put(n)));
            (0..round * 20).for_each(|_| std::hint::spin_loop());
            drop((sender, dropped));
            assert_eq!(taker.join().unwrap(), None);
            assert!(putter.join().unwrap().is_err());
        }
    }
    each!(test);
}

/// A token that tells when it is dropped.
struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_token_that_nobody_takes_is_dropped_once() {
    fn test<L: Link<Counted>>() {
        let dropped = Arc::new(AtomicU32::new(0));
        let token = || Counted(Arc::clone(&dropped));
        let times = || dropped.load(Ordering::Relaxed);

        let (mut sender, receiver) = L::link(1);
        sender.put(token()).unwrap();
        drop((sender, receiver));
        assert_eq!(times(), 1);

        let (mut sender, mut receiver) = L::link(1);
        sender.put(token()).unwrap();
        drop(receiver.take());
        drop(receiver);
        assert_eq!(times(), 2);
        sender.put(token()).unwrap_err();
        assert_eq!(times(), 3);
    }
    ends("futex", test::<Futex>);
    ends("park", test::<Park>);
    ends("mpsc", test::<Mpsc>);
    ends("condvar", test::<Condvar>);
}

#[test]
fn without_room_a_token_is_handed_from_hand_to_hand() {
    ends("mpsc without room", || {
        let (mut sender, mut receiver) = <Mpsc as Link<usize>>::link(0);
        let thread = thread::spawn(move || (0..100).try_for_each(|n| sender.put(n)));
        assert!((0..100).eq(std::iter::from_fn(|| receiver.take())));
        thread.join().unwrap().unwrap();
    });
}

#[test]
fn the_first_task_takes_the_backlog_after_the_token_that_it_was_sent() {
    let flags = <chain::MemoryFlags as clap::FromArgMatches>::from_arg_matches(
        &<chain::MemoryFlags as clap::Args>::augment_args(clap::Command::new("brigade"))
            .get_matches_from(["brigade", "--tokens", "3", "--feed", "first-task"]),
    )
    .unwrap();
    let backlog = flags.backlog::<usize>().unwrap();
    let mut tokens = chain::Tokens::new(&flags, Some(backlog.clone()));
    let (mut sender, receiver) = <Futex as Link<usize>>::link(1);
    let mut first = Special::new(receiver, Some(&backlog), None);
    for start in [10, 20] {
        let (_, all) = tokens.set_out(start);
        sender.put(all[0]).unwrap();
        let taken = [(); 3].map(|()| first.take().unwrap());
        assert_eq!(taken, [0, 1, 2].map(|k| Some(start as usize + k)));
    }
    drop(sender);
    assert_eq!(first.take().unwrap(), None);
}
