use chain::ChainsFlags;
use runtime::{DriverKind, RuntimeFlags, TokioFlags};
use tokio::task::yield_now;

use super::*;
use crate::{Executor, Tokio, minimal};

/// The end comes while the other side is on its way to wait, or not yet, or already there.
#[test]
fn an_end_at_any_moment_is_seen_and_a_link_holds_one_token() {
    fn test<R: Receiver>(executor: &impl Executor) {
        for round in 0..300 {
            let (mut receiver, sender) = R::link(1);
            let taker = executor.spawn(0, async move { Ok(receiver.take().await) });
            let (dropped, mut full) = R::link(1);
            let putter = executor.spawn(0, async move {
                let first = full.put(0).await.is_err();
                Ok(first || full.put(1).await.is_err())
            });
            let dropper = executor.spawn(0, async move {
                for _ in 0..round % 3 {
                    yield_now().await;
                }
                (0..round * 20).for_each(|_| std::hint::spin_loop());
                drop((sender, dropped));
                Ok(())
            });
            executor.join(0, dropper).unwrap();
            assert_eq!(executor.join(0, taker).unwrap(), None);
            assert!(executor.join(0, putter).unwrap());
        }
    }
    for workers in [1, 2] {
        let (runtime, driver) = (RuntimeFlags::multi_thread(Some(workers)), DriverKind::Spawned);
        let flags = TokioFlags { runtime, driver };
        let runtimes = flags.build_for(ChainsFlags::default(), false).unwrap();
        let tokio = Tokio { runtimes: &runtimes, driver };
        test::<NotifyReceiver>(&tokio);
        test::<MutexEnd>(&tokio);
    }
    test::<SlotEnd>(&minimal::Executor::new());
}

/// Each holds the next one: were they dropped so, the stack would not suffice.
#[test]
fn tokens_of_oneshots_that_nobody_takes_are_dropped_one_by_one() {
    let (receiver, mut sender) = OneshotReceiver::link(1);
    let executor = minimal::Executor::new();
    let putter = executor.spawn(0, async move {
        for number in 0..1_000_000 {
            assert!(sender.put(number).await.is_ok());
        }
        drop(receiver);
        Ok(sender.put(0).await.is_err())
    });
    assert!(executor.join(0, putter).unwrap());
}
