//! What the tasks of a chain came to, and which error explains the others.

use std::io;
use std::thread;

use crate::links::verify_passed;
use crate::{panics, root_cause};

/// Collects what each task returned when it ended.
#[derive(Debug, Default)]
pub struct Tally {
    passed: u64,
    errors: Vec<anyhow::Error>,
}

impl Tally {
    /// Adds one task: how many tokens it passed on, or why it failed.
    pub fn add(&mut self, outcome: anyhow::Result<u64>) {
        match outcome {
            Ok(passed) => self.passed += passed,
            Err(e) => self.errors.push(e),
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
    /// The error that explains the others.
    pub fn settle(self, driver: anyhow::Result<()>, tasks: u32, sent: u64) -> anyhow::Result<()> {
        // A task's error comes first: the driver only saw the chain end early.
        match root_cause(self.errors.into_iter().chain(driver.err())) {
            Some(error) => Err(error),
            None => verify_passed(self.passed, tasks, sent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_task_that_died_explains_an_early_end() {
        let mut tally = Tally::default();
        tally.add_thread(Ok(Ok(3)));
        tally.add_thread(Ok(Err(io::ErrorKind::BrokenPipe.into())));
        tally.add_thread(thread::spawn(|| panic!("out of luck")).join());
        let error = tally
            .settle(Err(anyhow!("the chain ended early")), 3, 3)
            .unwrap_err();
        assert!(error.to_string().contains("out of luck"), "{error}");
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
