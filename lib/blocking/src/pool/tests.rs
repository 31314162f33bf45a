use std::sync::Barrier;

use threads::Placement;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

use super::*;

fn pool(threads: u32, bound: Bound) -> Pool {
    let cpus = CpuAssignment::new(Placement::Free).unwrap();
    Pool::start(threads, bound, &cpus).unwrap()
}

impl Queue {
    fn room(&self) -> Option<usize> {
        self.room.as_ref().map(|room| room.available_permits())
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

#[test]
fn what_is_dispatched_comes_back_from_the_pools_threads() {
    for bound in [Bound::Unbounded, Bound::Bounded] {
        let pool = pool(3, bound);
        let queue = pool.queue();
        let here = thread::current().id();
        runtime().block_on(async {
            for k in 0..100 {
                let job = move || (k * k, thread::current().id());
                let (square, there) = queue.dispatch(job).await.unwrap();
                assert_eq!(square, k * k);
                assert_ne!(there, here);
            }
        });
        drop(queue);
        pool.join().unwrap();
    }
}

/// One thread, so one place: one job is under way, one waits, and the third task waits itself.
#[test]
fn a_task_awaits_the_room_in_a_bounded_queue() {
    let pool = pool(1, Bound::Bounded);
    let queue = pool.queue();
    let gate = Arc::new(Barrier::new(2));
    runtime().block_on(async {
        let (begin, begun) = oneshot::channel();
        let first = tokio::spawn({
            let (queue, gate) = (queue.clone(), Arc::clone(&gate));
            let operation = move || {
                begin.send(()).unwrap();
                gate.wait();
            };
            async move { queue.dispatch(operation).await }
        });
        // The only thread is busy, and the queue is empty.
        begun.await.unwrap();
        let others = [1, 2].map(|k| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.dispatch(move || k).await })
        });
        while queue.jobs.is_empty() {
            yield_now().await;
        }
        for _ in 0..100 {
            yield_now().await;
            assert_eq!((queue.room(), queue.jobs.len()), (Some(0), 1));
        }
        assert!(others.iter().all(|task| !task.is_finished()));
        gate.wait();
        first.await.unwrap().unwrap();
        for (task, k) in others.into_iter().zip(1..) {
            assert_eq!(task.await.unwrap().unwrap(), k);
        }
        assert_eq!(queue.room(), Some(1));
    });
    drop(queue);
    pool.join().unwrap();
}

#[test]
fn a_panic_is_the_tasks_error_and_the_thread_goes_on() {
    let pool = pool(1, Bound::Unbounded);
    let queue = pool.queue();
    runtime().block_on(async {
        let error = queue.dispatch(|| panic!("out of luck")).await;
        let error: anyhow::Result<()> = error;
        let text = error.unwrap_err().to_string();
        assert!(text.contains("out of luck"), "{text}");
        assert_eq!(queue.dispatch(|| 5).await.unwrap(), 5);
    });
    drop(queue);
    pool.join().unwrap();
}
