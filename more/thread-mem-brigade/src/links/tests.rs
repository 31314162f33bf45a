use std::io::ErrorKind;
use std::thread;

use super::*;

/// The end comes while the other side is on its way to sleep, or not yet, or already there.
#[test]
fn an_end_at_any_moment_is_seen() {
    for round in 0..300 {
        let (mut receiver, sender) = FutexReceiver::link(1);
        let taker = thread::spawn(move || receiver.take());
        let (dropped, mut full) = FutexReceiver::link(1);
        let putter = thread::spawn(move || (0..2).try_for_each(|n| full.put(n)));
        (0..round * 20).for_each(|_| std::hint::spin_loop());
        drop((sender, dropped));
        assert_eq!(taker.join().unwrap(), None);
        assert_eq!(putter.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
