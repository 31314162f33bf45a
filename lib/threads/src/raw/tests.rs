use std::io::{PipeReader, Write, pipe};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::*;
use contract::units::Bytes;

/// Threads are counted by the whole process: one of these tests at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn threads(tasks: u32) -> RawThreads {
    let stack = StackFlags { stack_size: Bytes(64 << 10), stacks: Stacks::Std };
    RawThreads::new(stack, tasks).unwrap()
}

fn create(threads: &mut RawThreads, count: u32, action: ThreadAction<'_>) {
    let blocked = SignalsBlocked::new().unwrap();
    for _ in 0..count {
        threads.create(&blocked, action).unwrap();
    }
}

/// Both system calls, as far as the kernel has them.
fn with_each_call(check: impl Fn(&mut RawThreads)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for call in [CloneCall::Clone3, CloneCall::Clone] {
        let mut threads = threads(20);
        threads.call = call;
        check(&mut threads);
    }
}

#[test]
fn each_thread_writes_its_number_down_and_is_gone_when_it_is_joined() {
    with_each_call(|threads| {
        for count in [20, 1, 0, 20] {
            create(threads, count, ThreadAction::None);
            let numbers: Vec<Option<u32>> = threads.join().map(|report| report.number).collect();
            let expected: Vec<Option<u32>> = (0..count).map(Some).collect();
            assert_eq!(numbers, expected);
        }
    });
}

#[test]
fn a_thread_reads_the_clock_after_it_was_created() {
    with_each_call(|threads| {
        let called = Instant::now();
        create(threads, 20, ThreadAction::Clock);
        let reports: Vec<ThreadReport> = threads.join().collect();
        let all = called.elapsed();
        for report in reports {
            let delay = threads.delay(called, report);
            // Both clocks were not read at the very same moment.
            assert!(delay <= all + Duration::from_millis(1), "{delay:?} {all:?}");
            assert!(delay > Duration::ZERO);
        }
    });
}

/// Threads of this process.
fn alive() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn threads_that_wait_are_alive_until_they_read_a_byte() {
    with_each_call(|threads| {
        let (gate, mut key): (PipeReader, _) = pipe().unwrap();
        create(threads, 20, ThreadAction::Read(gate.as_fd()));
        while threads.started() < 20 {
            thread::yield_now();
        }
        assert!(alive() > 20);
        let refused = threads.create(&SignalsBlocked::new().unwrap(), ThreadAction::None);
        assert!(refused.unwrap_err().to_string().contains("all 20 stacks"));
        key.write_all(&[7; 20]).unwrap();
        assert_eq!(threads.join().count(), 20);
    });
}

#[test]
fn threads_that_are_dropped_are_joined() {
    with_each_call(|threads| {
        let (gate, key) = pipe().unwrap();
        let mut dropped = super::tests::threads(3);
        dropped.call = threads.call;
        create(&mut dropped, 3, ThreadAction::Read(gate.as_fd()));
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
        create(threads, 20, ThreadAction::Clock);
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
