use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::StackFlags;

const EACH: [Stacks; 2] = [Stacks::Std, Stacks::Arena];

fn stack(stacks: Stacks, bytes: u64) -> StackFlags {
    StackFlags { stack_size: Bytes(bytes), stacks }
}

fn spawner(stacks: Stacks, tasks: u32) -> Spawner {
    Spawner::new(stack(stacks, 128 << 10), tasks).unwrap()
}

#[test]
fn what_a_body_returns_comes_back_and_what_it_panics_with() {
    for stacks in EACH {
        let spawner = spawner(stacks, 3);
        let text = "moved".to_owned();
        let threads = [
            spawner.spawn(move || text).unwrap(),
            spawner.spawn(|| panic!("out of luck")).unwrap(),
            spawner.spawn(String::new).unwrap(),
        ];
        let [text, panic, empty] = threads.map(Thread::join);
        assert_eq!(text.unwrap(), "moved");
        assert_eq!(empty.unwrap(), "");
        let panic = panic.unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"out of luck"));
    }
}

#[test]
fn a_thread_that_is_dropped_is_awaited() {
    for stacks in EACH {
        let ended = Arc::new(AtomicBool::new(false));
        let spawner = spawner(stacks, 1);
        let body = {
            let ended = Arc::clone(&ended);
            move || {
                thread::sleep(Duration::from_millis(20));
                ended.store(true, Ordering::Release);
            }
        };
        let thread = spawner.spawn(body).unwrap();
        // The stacks outlive their spawner.
        drop(spawner);
        drop(thread);
        assert!(ended.load(Ordering::Acquire), "{stacks:?}");
    }
}

/// The address of something on the stack of the thread that calls it.
fn whereabouts() -> usize {
    let local = 0u8;
    std::hint::black_box(&raw const local).addr()
}

#[test]
fn the_stacks_of_an_arena_are_apart_and_used_again() {
    let spawner = spawner(Stacks::Arena, 2);
    let size = stack(Stacks::Arena, 128 << 10).bytes_each() as usize;
    let pair = || {
        let (gate, wait) = mpsc::channel::<()>();
        let first = spawner.spawn(move || (wait.recv().is_err(), whereabouts())).unwrap();
        let second = spawner.spawn(whereabouts).unwrap();
        let refused = format!("{:#}", spawner.spawn(whereabouts).unwrap_err());
        assert!(refused.contains("all 2 stacks"), "{refused}");
        drop(gate);
        let mut places = [first.join().unwrap().1, second.join().unwrap()];
        places.sort_unstable();
        places
    };
    let places = pair();
    assert!(places[1] - places[0] > size / 2, "{places:x?}");
    for _ in 0..10 {
        let again = pair();
        let moved = places.iter().zip(again).map(|(&a, b)| a.abs_diff(b));
        assert!(moved.max() < Some(size / 2), "{places:x?} {again:x?}");
    }
}

#[test]
fn what_cannot_be_had_is_an_error_of_the_system() {
    let huge = |stacks| Spawner::new(stack(stacks, 1 << 60), 100);
    let code = |error: &anyhow::Error| error.downcast_ref::<std::io::Error>()?.raw_os_error();
    let error = huge(Stacks::Std).unwrap().spawn(|| ()).unwrap_err();
    assert_eq!(code(&error), Some(libc::EAGAIN));
    assert_eq!(code(&huge(Stacks::Arena).unwrap_err()), Some(libc::ENOMEM));
}

#[test]
fn a_stack_is_as_large_as_asked_for_and_an_odd_number_of_pages() {
    let page = page();
    for (asked, pages) in [(1, 1), (5 * page, 5), (6 * page, 7), (6 * page + 1, 7)] {
        let least = (libc::PTHREAD_STACK_MIN as u64).div_ceil(page) | 1;
        let bytes = stack(Stacks::Arena, asked).bytes_each();
        assert_eq!(bytes, least.max(pages) * page, "{asked}");
    }
    assert_eq!(stack(Stacks::Std, 17_000).bytes_each(), 17_000);
}

/// How many memory maps this process has.
fn maps() -> u64 {
    fs::read_to_string("/proc/self/maps").unwrap().lines().count() as u64
}

/// Threads that wait until the channel is closed.
fn waiting(spawner: &Spawner, count: u32) -> (mpsc::Sender<()>, Vec<Thread<bool>>) {
    let (gate, wait) = mpsc::channel();
    let wait = Arc::new(Mutex::new(wait));
    let threads = (0..count).map(|_| {
        let wait = Arc::clone(&wait);
        let body = move || wait.lock().unwrap().recv().is_err();
        spawner.spawn(body).unwrap()
    });
    let threads = threads.collect();
    (gate, threads)
}

#[test]
fn only_std_threads_take_memory_maps() {
    const COUNT: u32 = 400;
    for stacks in EACH {
        let before = maps();
        let spawner = spawner(stacks, COUNT);
        let (gate, threads) = waiting(&spawner, COUNT);
        let taken = maps().saturating_sub(before);
        drop(gate);
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));

        let need = stack(stacks, 128 << 10).needs().maps.of(COUNT.into());
        assert!(taken <= need, "{stacks:?}: {taken} of {need}");
        // Two for each where the C library makes guard pages without maps.
        let few = taken < u64::from(COUNT) / 2;
        assert_eq!(few, stacks != Stacks::Std, "{stacks:?}: {taken}");
    }
}
