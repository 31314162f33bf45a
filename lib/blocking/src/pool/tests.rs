use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

use super::*;

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

#[test]
fn a_dispatched_operation_runs_on_a_thread_of_the_pool() {
    for bound in [Bound::Unbounded, Bound::Bounded] {
        let pool = Pool::start(3, bound).unwrap();
        let queue = pool.queue();
        runtime().block_on(async {
            for k in 0..100 {
                let job = move || (k * k, thread::current().id());
                let (square, there) = queue.dispatch(job).await.unwrap();
                assert_eq!(square, k * k);
                assert_ne!(there, thread::current().id());
            }
            let died: anyhow::Result<()> = queue.dispatch(|| panic!("out of luck")).await;
            assert!(died.unwrap_err().to_string().contains("out of luck"));
            assert_eq!(queue.dispatch(|| 5).await.unwrap(), 5);
        });
        drop(queue);
        pool.join().unwrap();
    }
}

/// One thread, so one place: one job is under way, one waits, and the third task waits itself.
#[test]
fn a_task_awaits_the_room_in_a_bounded_queue() {
    let pool = Pool::start(1, Bound::Bounded).unwrap();
    let queue = pool.queue();
    let (gate, wait) = std::sync::mpsc::channel::<()>();
    runtime().block_on(async {
        let (begin, begun) = oneshot::channel();
        let operation = move || {
            begin.send(()).unwrap();
            wait.recv().is_err()
        };
        let first = {
            let queue = queue.clone();
            tokio::spawn(async move { queue.dispatch(operation).await })
        };
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
            assert_eq!(queue.jobs.len(), 1);
        }
        assert!(others.iter().all(|task| !task.is_finished()));
        drop(gate);
        assert!(first.await.unwrap().unwrap());
        for (task, k) in others.into_iter().zip(1..) {
            assert_eq!(task.await.unwrap().unwrap(), k);
        }
    });
    drop(queue);
    pool.join().unwrap();
}
