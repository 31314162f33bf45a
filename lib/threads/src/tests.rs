use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use super::*;

const EACH: [Stacks; 2] = [Stacks::Std, Stacks::Arena];

fn stack(stacks: Stacks, bytes: u64) -> StackFlags {
    StackFlags { stack_size: Bytes(bytes), stacks }
}

fn spawner(stacks: Stacks, tasks: u32) -> Spawner {
    Spawner::new(stack(stacks, 128 << 10), tasks).unwrap()
}

#[test]
fn a_join_returns_the_value_or_the_panic_of_the_body() {
    for stacks in EACH {
        let spawner = spawner(stacks, 2);
        let text = "moved".to_owned();
        let moved = spawner.spawn(move || text).unwrap();
        let panics: Thread<()> = spawner.spawn(|| panic!("out of luck")).unwrap();
        assert_eq!(moved.join().unwrap(), "moved");
        assert_eq!(panics.join().unwrap_err().downcast_ref::<&str>(), Some(&"out of luck"));
    }
}

#[test]
fn a_thread_that_is_dropped_is_awaited() {
    for stacks in EACH {
        let ended = Arc::new(AtomicBool::new(false));
        let body = {
            let ended = Arc::clone(&ended);
            move || {
                thread::sleep(Duration::from_millis(20));
                ended.store(true, Ordering::Release);
            }
        };
        // The stack outlives the spawner.
        let thread = spawner(stacks, 1).spawn(body).unwrap();
        drop(thread);
        assert!(ended.load(Ordering::Acquire), "{stacks:?}");
    }
}

/// Address of something on the stack of the thread that calls it.
fn whereabouts() -> usize {
    let local = 0u8;
    std::hint::black_box(&raw const local).addr()
}

/// Addresses on the stacks of two threads that are alive at once, in ascending order.
fn places_of_two(spawner: &Spawner) -> [usize; 2] {
    let both = Arc::new(Barrier::new(3));
    let threads = [(), ()].map(|()| {
        let both = Arc::clone(&both);
        let body = move || {
            both.wait();
            whereabouts()
        };
        spawner.spawn(body).unwrap()
    });
    let refused = format!("{:#}", spawner.spawn(whereabouts).unwrap_err());
    assert!(refused.contains("all 2 stacks"), "{refused}");
    both.wait();
    let mut places = threads.map(|thread| thread.join().unwrap());
    places.sort_unstable();
    places
}

#[test]
fn the_stacks_of_an_arena_are_apart_and_used_again() {
    let spawner = spawner(Stacks::Arena, 2);
    let half = stack(Stacks::Arena, 128 << 10).bytes_each() as usize / 2;
    let places = places_of_two(&spawner);
    assert!(places[1] - places[0] > half, "{places:x?}");
    for _ in 0..10 {
        let again = places_of_two(&spawner);
        let moved = places.iter().zip(again).map(|(&a, b)| a.abs_diff(b));
        assert!(moved.max() < Some(half), "{places:x?} {again:x?}");
    }
}

#[test]
fn a_stack_of_an_arena_is_an_odd_number_of_pages() {
    let page = page();
    let least = (libc::PTHREAD_STACK_MIN as u64).div_ceil(page) | 1;
    for (asked, pages) in [(1, 1), (5 * page, 5), (6 * page, 7), (6 * page + 1, 7)] {
        let bytes = stack(Stacks::Arena, asked).bytes_each();
        assert_eq!(bytes, least.max(pages) * page, "{asked}");
    }
}

/// Number of memory maps of this process.
fn maps() -> u64 {
    fs::read_to_string("/proc/self/maps").unwrap().lines().count() as u64
}

#[test]
fn only_std_threads_take_memory_maps() {
    const COUNT: u32 = 400;
    for stacks in EACH {
        let before = maps();
        let spawner = spawner(stacks, COUNT);
        let all = Arc::new(Barrier::new(COUNT as usize + 1));
        let threads: Vec<_> = (0..COUNT)
            .map(|_| {
                let all = Arc::clone(&all);
                spawner.spawn(move || all.wait().is_leader()).unwrap()
            })
            .collect();
        let taken = maps().saturating_sub(before);
        all.wait();
        drop(threads);

        let need = stack(stacks, 128 << 10).needs().maps.of(COUNT.into());
        assert!(taken <= need, "{stacks:?}: {taken} of {need}");
        // Two for each if the C library makes guard pages without maps.
        let few = taken < u64::from(COUNT) / 2;
        assert_eq!(few, stacks != Stacks::Std, "{stacks:?}: {taken}");
    }
}
