//! The proof: together, the tasks have passed on as many tokens as they should have, or the true cause why not.

use std::io::{self, ErrorKind};

use anyhow::ensure;

/// Result of a chain. `driven` is the driver's result; `tasks` has, in the order of the chain, how many tokens each task
/// passed on, or why it failed; together they should have passed on `expected`. The error is the first of these that
/// applies: the error of a task, with its place in the chain; the driver's error; tokens that got lost.
pub fn conclude(
    driven: anyhow::Result<()>,
    tasks: impl IntoIterator<Item = anyhow::Result<u64>>,
    expected: u64,
) -> anyhow::Result<()> {
    let mut passed = 0;
    for (k, result) in tasks.into_iter().enumerate() {
        match result {
            Ok(tokens) => passed += tokens,
            Err(error) if is_echo(&error) => {}
            Err(error) => return Err(error.context(format!("task {k}"))),
        }
    }
    driven?;
    ensure!(passed == expected, "the tasks passed on {passed} tokens, expected {expected}");
    Ok(())
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
        for (results, cause) in [
            (vec![Ok(4), echo(), Err(anyhow!("out of luck"))], "task 2: out of luck"),
            (vec![Ok(4), echo()], "the chain ended early"),
        ] {
            let error = conclude(Err(anyhow!("the chain ended early")), results, 8).unwrap_err();
            assert_eq!(format!("{error:#}"), cause);
        }
    }

    #[test]
    fn lost_tokens_are_an_error() {
        assert!(conclude(Ok(()), [Ok(5), Ok(5)], 10).is_ok());
        assert!(conclude(Ok(()), [Ok(4), Ok(5)], 10).is_err());
        assert!(conclude(Ok(()), [echo(), Ok(5)], 10).is_err());
    }
}
