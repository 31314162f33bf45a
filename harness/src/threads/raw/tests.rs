use std::io::{PipeReader, Write, pipe};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::*;
use crate::units::Bytes;

/// Whose threads are counted by the whole process must not run beside others of these tests.
static ALONE: Mutex<()> = Mutex::new(());

fn threads(tasks: u32) -> RawThreads {
    let stack = Stack {
        stack_size: Bytes(64 << 10),
        stacks: Stacks::Std,
    };
    RawThreads::new(stack, tasks).unwrap()
}

fn create(threads: &mut RawThreads, count: u32, errand: Errand<'_>) {
    let deaf = Deaf::now().unwrap();
    for _ in 0..count {
        threads.create(&deaf, errand).unwrap();
    }
}

/// Both system calls, as far as the kernel has them.
fn with_each_call(check: impl Fn(&mut RawThreads)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for call in [Call::Clone3, Call::Clone] {
        let mut threads = threads(20);
        threads.call = call;
        check(&mut threads);
    }
}

#[test]
fn each_thread_counts_itself_and_is_gone_when_it_is_awaited() {
    with_each_call(|threads| {
        for count in [20, 1, 0, 20] {
            create(threads, count, Errand::None);
            let numbers: Vec<Option<u32>> = threads.join().map(|trace| trace.number).collect();
            let expected: Vec<Option<u32>> = (0..count).map(Some).collect();
            assert_eq!(numbers, expected);
        }
    });
}

#[test]
fn a_thread_reads_the_clock_after_it_was_called_for() {
    with_each_call(|threads| {
        let called = Instant::now();
        create(threads, 20, Errand::Clock);
        let traces: Vec<Trace> = threads.join().collect();
        let all = called.elapsed();
        for trace in traces {
            let delay = threads.delay(called, trace);
            // Both clocks were not read at the very same moment.
            assert!(delay <= all + Duration::from_millis(1), "{delay:?} {all:?}");
            assert!(delay > Duration::ZERO);
        }
    });
}

/// How many threads this process has.
fn alive() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn threads_that_wait_are_alive_until_they_are_let_go() {
    with_each_call(|threads| {
        let (gate, mut key): (PipeReader, _) = pipe().unwrap();
        create(threads, 20, Errand::Read(gate.as_fd()));
        while threads.started() < 20 {
            thread::yield_now();
        }
        assert!(alive() > 20);
        let refused = threads.create(&Deaf::now().unwrap(), Errand::None);
        assert!(refused.unwrap_err().to_string().contains("all 20 stacks"));
        key.write_all(&[7; 20]).unwrap();
        assert_eq!(threads.join().count(), 20);
    });
}

#[test]
fn threads_that_are_dropped_are_awaited() {
    with_each_call(|threads| {
        let (gate, key) = pipe().unwrap();
        let mut dropped = super::tests::threads(3);
        dropped.call = threads.call;
        create(&mut dropped, 3, Errand::Read(gate.as_fd()));
        let waker = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            drop(key);
        });
        drop(dropped);
        waker.join().unwrap();
    });
}

#[test]
fn their_stacks_are_never_touched() {
    with_each_call(|threads| {
        create(threads, 20, Errand::Clock);
        threads.join().for_each(drop);
        for stack in &threads.stacks {
            let pages = stack.size() / 4096;
            let mut resident = vec![0u8; pages];
            // SAFETY: the mapping is the stack's, and there is a byte for each of its pages.
            let code =
                unsafe { libc::mincore(stack.lowest(), stack.size(), resident.as_mut_ptr()) };
            assert_eq!(code, 0);
            assert!(resident.iter().all(|page| page & 1 == 0));
        }
    });
}
