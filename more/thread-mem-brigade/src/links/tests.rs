use std::io::ErrorKind;
use std::sync::Arc;
use std::thread;

use super::*;

/// The end comes while the other side is on its way to sleep, or not yet, or already there.
#[test]
fn an_end_at_any_moment_is_seen() {
    fn test<R: Receiver<Token = usize>>() {
        for round in 0..300 {
            let (mut receiver, sender) = R::link(1);
            let taker = thread::spawn(move || receiver.take());
            let (dropped, mut full) = R::link(1);
            let putter = thread::spawn(move || (0..2).try_for_each(|n| full.put(n)));
            (0..round * 20).for_each(|_| std::hint::spin_loop());
            drop((sender, dropped));
            assert_eq!(taker.join().unwrap(), None);
            assert_eq!(putter.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
        }
    }
    test::<FutexReceiver<usize>>();
    test::<CondvarEnd<usize>>();
}

/// Only a futex link keeps its token in memory that does not drop it.
#[test]
fn a_token_that_nobody_takes_is_dropped_once() {
    let token = Arc::new(());
    let (receiver, mut sender) = FutexReceiver::link(1);
    sender.put(Arc::clone(&token)).unwrap();
    drop((sender, receiver));
    assert_eq!(Arc::strong_count(&token), 1);

    let (mut receiver, mut sender) = FutexReceiver::link(1);
    sender.put(Arc::clone(&token)).unwrap();
    drop(receiver.take());
    drop(receiver);
    sender.put(Arc::clone(&token)).unwrap_err();
    assert_eq!(Arc::strong_count(&token), 1);
}
