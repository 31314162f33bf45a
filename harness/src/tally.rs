//! What the tasks of a chain came to, and which of them explains an early end.

use std::io;
use std::thread;

use crate::fault::is_echo;
use crate::links::verify_passed;
use crate::panics;

/// Collects what each task returned when it ended, in the order of the chain.
#[derive(Debug, Default)]
pub struct Tally {
    tasks: u32,
    passed: u64,
    /// How many tokens the first task passed on; `None` after an error.
    first: Option<u64>,
    /// How many tokens the task that was added last passed on; `None` after an error.
    last: Option<u64>,
    /// The first error that is not the echo of another.
    cause: Option<anyhow::Error>,
    /// The first task that ended without an error, and earlier than the one before it.
    quitter: Option<Quitter>,
}

/// A task that ended without an error before the chain did.
#[derive(Clone, Copy, Debug)]
struct Quitter {
    task: u32,
    passed: u64,
}

impl Tally {
    /// Adds the next task: how many tokens it passed on, or why it failed.
    pub fn add(&mut self, outcome: anyhow::Result<u64>) {
        let task = self.tasks;
        self.tasks += 1;
        match outcome {
            Ok(passed) => {
                self.passed += passed;
                if task == 0 {
                    self.first = Some(passed);
                } else if self.last.is_none_or(|before| passed < before) {
                    self.quitter.get_or_insert(Quitter { task, passed });
                }
                self.last = Some(passed);
            }
            Err(error) => {
                if self.cause.is_none() && !is_echo(&error) {
                    self.cause = Some(error.context(format!("task {task}")));
                }
                self.last = None;
            }
        }
    }

    /// Adds what a thread's join returned.
    pub fn add_thread(&mut self, outcome: thread::Result<io::Result<u64>>) {
        self.add(match outcome {
            Ok(result) => result.map_err(anyhow::Error::new),
            Err(panic) => Err(panics::error(&*panic)),
        });
    }

    /// The outcome of the whole chain: the driver's, a task's error, or tokens that got lost on
    /// the way through `tasks` tasks, `sent` of them through each.
    ///
    /// # Errors
    /// The error that explains the others, with the task that it is of, counted from 0.
    pub fn settle(self, driver: anyhow::Result<()>, tasks: u32, sent: u64) -> anyhow::Result<()> {
        // A task's error comes first: the driver only saw the chain end early.
        if let Some(cause) = self.cause {
            return Err(cause);
        }
        let Err(error) = driver else {
            return verify_passed(self.passed, tasks, sent);
        };
        // Where the driver is at fault, the first task has passed on all that it was sent.
        let first = self.first.filter(|&passed| passed < sent);
        let first = first.map(|passed| Quitter { task: 0, passed });
        Err(match self.quitter.or(first) {
            Some(Quitter { task, passed }) => {
                let tokens = if passed == 1 { "token" } else { "tokens" };
                error.context(format!(
                    "task {task} ended after it had passed on {passed} {tokens}"
                ))
            }
            None => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    /// What a chain comes to whose driver saw it end early.
    fn told(outcomes: Vec<io::Result<u64>>, sent: u64) -> String {
        let mut tally = Tally::default();
        let tasks = outcomes.len() as u32;
        for outcome in outcomes {
            tally.add_thread(Ok(outcome));
        }
        let early = Err(anyhow!("the chain ended early"));
        format!("{:#}", tally.settle(early, tasks, sent).unwrap_err())
    }

    fn echo() -> io::Result<u64> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    #[test]
    fn a_task_that_died_explains_an_early_end() {
        let mut tally = Tally::default();
        tally.add_thread(Ok(Ok(3)));
        tally.add_thread(Ok(Err(io::ErrorKind::BrokenPipe.into())));
        tally.add_thread(thread::spawn(|| panic!("out of luck")).join());
        let error = tally
            .settle(Err(anyhow!("the chain ended early")), 3, 3)
            .unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("task 2: out of luck"), "{text}");
    }

    #[test]
    fn a_task_that_left_without_a_word_is_found() {
        let blames = |outcomes, task: u32| {
            let text = told(outcomes, 4);
            let words = format!("task {task} ended after it had passed on 3 tokens: the chain");
            assert!(text.starts_with(&words), "{text}");
        };
        // The one before it has found a broken pipe, or has passed on one more into it.
        blames(vec![Ok(4), echo(), Ok(3), Ok(3)], 2);
        blames(vec![Ok(4), Ok(4), Ok(3), Ok(3)], 2);
        blames(vec![echo(), Ok(3), Ok(3)], 1);
        blames(vec![Ok(3), Ok(3)], 0);
        blames(vec![Ok(3)], 0);
    }

    #[test]
    fn a_driver_at_fault_is_not_blamed_on_a_task() {
        assert_eq!(told(vec![Ok(4), Ok(4)], 4), "the chain ended early");
        assert_eq!(told(vec![], 0), "the chain ended early");
        // The driver has gone away, and the last task notices.
        assert_eq!(told(vec![Ok(4), echo()], 4), "the chain ended early");
    }

    #[test]
    fn lost_tokens_are_an_error() {
        let tally = |passed| {
            let mut tally = Tally::default();
            tally.add(Ok(passed));
            tally.add(Ok(passed));
            tally
        };
        assert!(tally(5).settle(Ok(()), 2, 5).is_ok());
        assert!(tally(4).settle(Ok(()), 2, 5).is_err());
    }
}
