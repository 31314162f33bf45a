//! Tasks that come and go.

use super::*;

/// So many tasks, of which one that has ended holds the memory given, and all else that it held.
fn passing(memory: u64, tasks: u64) -> Passing {
    let alive = threads();
    Passing {
        ended: Need {
            memory,
            ..alive.per_task
        },
        alive,
        tasks,
    }
}

/// 65,430 maps are left, of which a thread takes 4, and 8 GiB of memory.
const BY_MAPS: u64 = 65_427 / 4;

#[test]
fn where_all_fit_all_may_be_there() {
    let limits = Tree::plain().limits();
    let room = limits.room(&passing(12 << 10, 10_000));
    assert_eq!((room.alive, room.unjoined), (10_000, 10_000));
    assert_eq!(Room::for_all(7).alive, 7);
}

/// Ended threads keep their maps until they are joined, so that none is kept.
#[test]
fn where_they_do_not_fit_the_oldest_is_joined() {
    let limits = Tree::plain().limits();
    let room = limits.room(&passing(12 << 10, 1_000_000));
    assert_eq!((room.alive, room.unjoined), (BY_MAPS, BY_MAPS));
    assert_eq!(limits.largest(&threads()), BY_MAPS);
}

/// 300,000 alive would need 12 GB. 100,000 that have ended leave room for 100,000.
#[test]
fn what_has_ended_is_kept_where_it_leaves_room_enough() {
    let tree = Tree::plain().file("proc/sys/vm/max_map_count", "8000000\n");
    let tree = tree
        .file("proc/sys/kernel/threads-max", "4000000\n")
        .file("proc/self/limits", &rlimits("9", "4000000", "unlimited"));
    let limits = tree.limits();
    let memory = (8 << 30) - (1 << 20);
    let room = limits.room(&passing(12 << 10, 300_000));
    let beside = (memory - 300_000 * (12 << 10)) / (28 << 10);
    assert_eq!((room.alive, room.unjoined), (beside, 300_000));
    // 640,000 would leave room for few.
    let room = limits.room(&passing(12 << 10, 640_000));
    let alone = memory / (40 << 10);
    assert_eq!((room.alive, room.unjoined), (alone, alone));
}

#[test]
fn what_does_not_fit_at_all_has_no_room() {
    let limits = Tree::plain().file("proc/sys/vm/max_map_count", "50\n");
    assert_eq!(limits.limits().room(&passing(0, 5)).alive, 0);
}

/// The whole system's parameters are raised for what the memory allows, and for no more.
#[test]
fn limits_are_raised_for_as_many_as_the_others_allow() {
    let limits = Tree::plain().limits();
    let (demand, tasks) = passing(12 << 10, 300_000).to_raise(&limits);
    let need = demand.of(tasks);
    assert!(need.memory <= 8 << 30, "{need:?}");
    assert!(need.maps >= 4 * 300_000 && tasks > 100_000, "{need:?}");
    let (demand, tasks) = passing(12 << 10, 3_000_000).to_raise(&limits);
    assert!(demand.of(tasks).memory <= 8 << 30);
    assert!(tasks < 3_000_000 && tasks > 200_000, "{tasks}");
    let (demand, tasks) = passing(12 << 10, 3).to_raise(&limits);
    assert_eq!(demand.of(tasks), threads().of(3));
}
