use std::future;
use std::panic;
use std::sync::Weak;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// Waits once, having woken itself.
async fn step_aside() {
    let mut has_waited = false;
    poll_fn(|context| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Ends with the waker of the task that awaits it.
async fn my_waker() -> Waker {
    poll_fn(|context| Poll::Ready(context.waker().clone())).await
}

fn ended<T>(outcome: Option<thread::Result<T>>) -> T {
    match outcome {
        Some(Ok(output)) => output,
        Some(Err(_)) => panic!("it panicked"),
        None => panic!("it did not end"),
    }
}

/// How often `count` has been added to.
fn times(count: &AtomicU32) -> u32 {
    count.load(Ordering::Relaxed)
}

#[test]
fn tasks_run_first_in_first_out() {
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let executor = Executor::new();
    executor.block_on(async {
        let mut tasks = Vec::new();
        for k in 0..3 {
            let order = Arc::clone(&order);
            tasks.push(executor.spawn(async move {
                for _ in 0..3 {
                    order.lock().unwrap().push(k);
                    step_aside().await;
                }
                k
            }));
        }
        for (k, task) in (0..).zip(tasks) {
            assert_eq!(ended(executor.join(task).await), k);
        }
    });
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn a_task_is_polled_once_however_often_it_was_woken() {
    let polls = Arc::new(AtomicU32::new(0));
    let executor = Executor::new();
    executor.block_on(async {
        let counted = Arc::clone(&polls);
        let (send, wakers) = std::sync::mpsc::channel();
        let sleeper = executor.spawn(poll_fn(move |context| {
            counted.fetch_add(1, Ordering::Relaxed);
            // The second time nobody is there to take it.
            let _ = send.send(context.waker().clone());
            Poll::<()>::Pending
        }));
        let rouser = executor.spawn(async move {
            let waker = wakers.recv().unwrap();
            for _ in 0..5 {
                waker.wake_by_ref();
            }
            waker.wake();
        });
        ended(executor.join(rouser).await);
        assert!(executor.join(sleeper).await.is_none());
    });
    assert_eq!(times(&polls), 2);
}

#[test]
fn who_waits_for_ever_is_told_and_dropped() {
    let held = Arc::new(());
    let executor = Executor::new();
    executor.block_on(async {
        let inside = Arc::clone(&held);
        let task = executor.spawn(async move {
            future::pending::<()>().await;
            drop(inside);
        });
        assert!(executor.join(task).await.is_none());
    });
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_panic_ends_its_task_alone() {
    let executor = Executor::new();
    executor.block_on(async {
        let bad = executor.spawn(async {
            step_aside().await;
            panic::resume_unwind(Box::new("out of luck"));
        });
        let good = executor.spawn(async {
            step_aside().await;
            step_aside().await;
            7
        });
        let panic: thread::Result<()> = executor.join(bad).await.unwrap();
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"out of luck"));
        assert_eq!(ended(executor.join(good).await), 7);
    });
}

/// A task that holds a waker of its own, or of another that holds one of its, would hold itself.
#[test]
fn tasks_that_hold_each_other_are_dropped_with_their_executor() {
    let held = Arc::new(());
    let mut tasks: Vec<Weak<Task>> = Vec::new();
    {
        let executor = Executor::new();
        executor.block_on(async {
            for _ in 0..3 {
                let inside = Arc::clone(&held);
                let task = executor.spawn(async move {
                    let waker = my_waker().await;
                    future::pending::<()>().await;
                    drop((waker, inside));
                });
                tasks.push(Arc::downgrade(&task.0));
            }
            let last = executor.spawn(async {});
            ended(executor.join(last).await);
        });
        assert_eq!(Arc::strong_count(&held), 4);
    }
    assert_eq!(Arc::strong_count(&held), 1);
    assert!(tasks.iter().all(|task| task.upgrade().is_none()));
}

#[test]
fn wakers_outlive_the_executor_and_do_nothing() {
    let executor = Executor::new();
    let waker = executor.block_on(async {
        let task = executor.spawn(my_waker());
        ended(executor.join(task).await)
    });
    drop(executor);
    waker.wake_by_ref();
    // The next executor of this thread does not run what is none of its own.
    let executor = Executor::new();
    waker.wake_by_ref();
    drop(waker);
    let outcome = executor.block_on(async {
        let task = executor.spawn(async { 3 });
        executor.join(task).await
    });
    assert_eq!(ended(outcome), 3);
}

#[test]
fn a_task_that_was_woken_when_all_ends_is_forgotten() {
    let polls = Arc::new(AtomicU32::new(0));
    let executor = Executor::new();
    let counted = Arc::clone(&polls);
    // Ready, and never run.
    executor.spawn(async move { counted.fetch_add(1, Ordering::Relaxed) });
    drop(executor);
    let executor = Executor::new();
    executor.block_on(async {
        let task = executor.spawn(async {});
        ended(executor.join(task).await);
    });
    assert_eq!(times(&polls), 0);
    assert_eq!(Arc::strong_count(&polls), 1);
}

#[test]
fn another_thread_may_use_a_waker_up_and_reaches_nothing() {
    let executor = Executor::new();
    executor.block_on(async {
        let (send, wakers) = std::sync::mpsc::channel();
        let task = executor.spawn(async move {
            send.send(my_waker().await).unwrap();
            let local = Arc::new(Local::new(Cell::new(1)));
            let elsewhere = Arc::clone(&local);
            let seen = thread::spawn(move || elsewhere.get().is_some());
            assert!(!seen.join().unwrap());
            local.get().unwrap().set(2);
            future::pending::<()>().await;
        });
        let other = executor.spawn(async move {
            let waker = wakers.recv().unwrap();
            thread::spawn(move || {
                // With an executor of its own, too.
                let _executor = Executor::new();
                waker.wake_by_ref();
                waker.wake();
            })
            .join()
            .unwrap();
        });
        ended(executor.join(other).await);
        assert!(executor.join(task).await.is_none());
    });
}

#[test]
fn a_local_value_ends_with_its_executor() {
    let executor = Executor::new();
    let local = Local::new(Cell::new(1));
    assert!(local.get().is_some());
    drop(executor);
    assert!(local.get().is_none());
    let _next = Executor::new();
    assert!(local.get().is_none());
}

#[test]
#[should_panic(expected = "a thread has one executor")]
fn a_thread_has_one_executor() {
    let _first = Executor::new();
    let _second = Executor::new();
}
