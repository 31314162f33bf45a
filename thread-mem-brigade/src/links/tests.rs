use std::io::ErrorKind;
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
    fn test<L: Link>() {
        let (mut sender, mut receiver) = L::link();
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
    fn test<L: Link>() {
        let (mut there, mut upstream) = L::link();
        let (mut downstream, mut back) = L::link();
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
    fn test<L: Link>() {
        let (mut sender, mut receiver) = L::link();
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
    fn test<L: Link>() {
        let (sender, mut receiver) = L::link();
        let thread = thread::spawn(move || receiver.take());
        a_moment();
        drop(sender);
        assert_eq!(thread.join().unwrap(), None);
    }
    each!(test);
}

#[test]
fn a_sender_without_a_receiver_gets_an_error() {
    fn test<L: Link>() {
        let (mut sender, receiver) = L::link();
        drop(receiver);
        assert_eq!(sender.put(1).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(sender.put(1).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
    each!(test);
}

#[test]
fn a_sender_that_waits_for_room_learns_that_there_will_be_none() {
    fn test<L: Link>() {
        let (mut sender, receiver) = L::link();
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
    fn test<L: Link>() {
        for round in 0..300 {
            let (sender, mut receiver) = L::link();
            let taker = thread::spawn(move || receiver.take());
            let (mut full, dropped) = L::link();
            let putter = thread::spawn(move || (0..2).try_for_each(|n| full.put(n)));
            (0..round * 20).for_each(|_| std::hint::spin_loop());
            drop((sender, dropped));
            assert_eq!(taker.join().unwrap(), None);
            assert!(putter.join().unwrap().is_err());
        }
    }
    each!(test);
}
