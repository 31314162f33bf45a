//! Results of the tasks of a chain, and which of them explains an early end.

use std::io::{self, ErrorKind};

use anyhow::ensure;

/// Result of each task of a chain.
#[derive(Debug)]
pub struct TaskResults(Vec<(u32, anyhow::Result<u64>)>);

impl FromIterator<(u32, anyhow::Result<u64>)> for TaskResults {
    /// For the task in each place: how many tokens it passed on, or why it failed.
    fn from_iter<I: IntoIterator<Item = (u32, anyhow::Result<u64>)>>(results: I) -> Self {
        TaskResults(results.into_iter().collect())
    }
}

impl TaskResults {
    /// Result of the whole chain: `driver` is the driver's own, `sent` the tokens that it sent. An error is the
    /// first true cause, with its task: an error of a task, then a task that ended early, then the driver's error,
    /// then tokens that got lost.
    pub fn into_result(mut self, driver: anyhow::Result<()>, sent: u64) -> anyhow::Result<()> {
        self.0.sort_unstable_by_key(|&(place, _)| place);
        let first_error =
            self.0.iter().position(|(_, result)| result.as_ref().is_err_and(|e| !is_echo(e)));
        if let Some(at) = first_error {
            let (place, result) = self.0.swap_remove(at);
            return result.map(drop).map_err(|e| e.context(format!("task {place}")));
        }
        if let Err(error) = driver {
            let Some((task, passed)) = self.first_to_leave(sent) else { return Err(error) };
            let what = format!("task {task} ended after it had passed on {passed} tokens");
            return Err(error.context(what));
        }
        let passed: u128 =
            self.0.iter().flat_map(|(_, passed)| passed).map(|&n| u128::from(n)).sum();
        let expected = self.0.len() as u128 * u128::from(sent);
        ensure!(passed == expected, "the tasks passed on {passed} tokens, expected {expected}");
        Ok(())
    }

    /// The first task that ended without an error, and earlier than the one before it. If the driver
    /// is at fault there is none: the first task has passed on all that it was sent.
    fn first_to_leave(&self, sent: u64) -> Option<(u32, u64)> {
        let passed = |k: usize| self.0[k].1.as_ref().ok().copied();
        let count = self.0.len();
        // Behind an echo the first one that has none left early, unless it is the first task.
        (1..count).chain(0..count.min(1)).find_map(|k| {
            let before = if k == 0 { Some(sent) } else { passed(k - 1) };
            let own = passed(k).filter(|&own| before.is_none_or(|before| own < before))?;
            Some((self.0[k].0, own))
        })
    }
}

/// True if an error is the echo of another: when one task of a chain ends, its neighbour upstream
/// finds a broken pipe. (A socket that is closed with unread bytes resets the connection.)
fn is_echo(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|e| matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    fn echo() -> anyhow::Result<u64> {
        Err(io::Error::from(ErrorKind::BrokenPipe).into())
    }

    #[test]
    fn the_first_true_cause_of_an_early_end_is_named() {
        let died = Err(anyhow!("out of luck"));
        for (results, cause) in [
            (vec![Ok(4), echo(), died], "task 2: out of luck"),
            // The one before it has found a broken pipe, or has passed on one more into it.
            (vec![Ok(4), echo(), Ok(3), Ok(3)], "task 2 ended after it had passed on 3 tokens: "),
            (vec![Ok(4), Ok(4), Ok(3), Ok(3)], "task 2 ended after it had passed on 3 tokens: "),
            (vec![echo(), Ok(3), Ok(3)], "task 1 ended after it had passed on 3 tokens: "),
            (vec![Ok(3), Ok(3)], "task 0 ended after it had passed on 3 tokens: "),
            // No task is to blame: the driver has gone away, and the last task may notice.
            (vec![Ok(4), Ok(4)], "the chain ended early"),
            (vec![Ok(4), echo()], "the chain ended early"),
            (vec![], "the chain ended early"),
        ] {
            // In another order than the chain's.
            let all = (0..).zip(results).collect::<Vec<_>>().into_iter().rev();
            let early = Err(anyhow!("the chain ended early"));
            let error = TaskResults::from_iter(all).into_result(early, 4).unwrap_err();
            assert!(format!("{error:#}").starts_with(cause), "{error:#}, not {cause}");
        }
    }

    #[test]
    fn lost_tokens_are_an_error() {
        let results = |passed| TaskResults::from_iter([(0, anyhow::Ok(passed)), (1, Ok(passed))]);
        assert!(results(5).into_result(Ok(()), 5).is_ok());
        assert!(results(4).into_result(Ok(()), 5).is_err());
    }
}
