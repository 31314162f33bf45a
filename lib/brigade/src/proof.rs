//! The proof: together, the tasks have passed on each token as often as there are tasks, or the true cause why not.

use std::io::{self, ErrorKind};

use anyhow::ensure;

/// Result of a chain. `driven` is the driver's result; `tasks` has, in the order of the chain, how many tokens each task
/// passed on, or why it failed; `sent` is how many tokens the driver sent. The error is the first of these that applies:
///
/// - the error of a task, with its place in the chain;
/// - a task that ended early, with its place;
/// - the driver's error;
/// - tokens that got lost.
pub fn conclude(
    driven: anyhow::Result<()>,
    tasks: impl IntoIterator<Item = anyhow::Result<u64>>,
    sent: u64,
) -> anyhow::Result<()> {
    let mut passed = Vec::new();
    for (k, result) in tasks.into_iter().enumerate() {
        match result {
            Ok(tokens) => passed.push(Some(tokens)),
            Err(error) if is_echo(&error) => passed.push(None),
            Err(error) => return Err(error.context(format!("task {k}"))),
        }
    }
    if let Err(error) = driven {
        let Some((task, tokens)) = first_to_leave(&passed, sent) else { return Err(error) };
        return Err(
            error.context(format!("task {task} ended after it had passed on {tokens} tokens"))
        );
    }
    let expected = passed.len() as u128 * u128::from(sent);
    let passed: u128 = passed.into_iter().flatten().map(u128::from).sum();
    ensure!(passed == expected, "the tasks passed on {passed} tokens, expected {expected}");
    Ok(())
}

/// The first task that ended without an error, and earlier than the task before it. If the driver is at fault there is
/// none: the first task has passed on all that it was sent.
fn first_to_leave(passed: &[Option<u64>], sent: u64) -> Option<(usize, u64)> {
    // A task that follows one with a broken pipe left early. The first task is judged last, by what it was sent.
    (1..passed.len()).chain(0..passed.len().min(1)).find_map(|k| {
        let before = if k == 0 { Some(sent) } else { passed[k - 1] };
        let tokens = passed[k].filter(|&tokens| before.is_none_or(|before| tokens < before))?;
        Some((k, tokens))
    })
}

/// True if an error is the echo of another one: when a task of a chain ends, its neighbour upstream finds a broken
/// pipe. (A socket that is closed with unread bytes resets the connection.)
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
            let error = conclude(Err(anyhow!("the chain ended early")), results, 4).unwrap_err();
            assert!(format!("{error:#}").starts_with(cause), "{error:#}, not {cause}");
        }
    }

    #[test]
    fn lost_tokens_are_an_error() {
        assert!(conclude(Ok(()), [Ok(5), Ok(5)], 5).is_ok());
        assert!(conclude(Ok(()), [Ok(4), Ok(5)], 5).is_err());
    }
}
