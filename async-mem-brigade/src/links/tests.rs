use super::*;
use crate::{Executor, minimal};

/// The end comes while the other side has not yet begun to wait, or waits already.
#[test]
fn an_end_at_any_moment_is_seen_and_a_slot_holds_one_token() {
    let executor = minimal::Executor::new();
    for is_first in [false, true] {
        let (mut receiver, sender) = SlotEnd::link(1);
        let (dropped, mut full) = SlotEnd::link(1);
        let ends = (!is_first).then_some((sender, dropped));
        let taker = executor.spawn(0, async move { Ok(receiver.take().await) });
        let putter = executor.spawn(0, async move {
            let first = full.put(0).await.is_err();
            Ok(first || full.put(1).await.is_err())
        });
        let dropper = executor.spawn(0, async move {
            drop(ends);
            Ok(())
        });
        executor.join(0, dropper).unwrap();
        assert_eq!(executor.join(0, taker).unwrap(), None);
        assert!(executor.join(0, putter).unwrap());
    }
}
