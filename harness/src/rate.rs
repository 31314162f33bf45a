//! How many tokens a chain carries in a second, and how many bytes.

use std::fmt;
use std::io::{self, Write};

use crate::record::Record;
use crate::recorder::Summary;
use crate::report::row;
use crate::units::{Nanos, significant};

/// So many in a second. Displays with four significant figures, and commas between thousands.
///
/// ```
/// use harness::rate::Rate;
/// assert_eq!(Rate(431_034.5).to_string(), "431,000");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0;
        if rate < 999.95 {
            return write!(f, "{rate:.*}", significant(rate));
        }
        let last = 10f64.powi(rate.log10().floor() as i32 - 3).max(1.0);
        let digits = format!("{:.0}", (rate / last).round() * last);
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// Writes what a chain carries, where an iteration is more than a token on its way through many
/// tasks:
/// - with one task and one token, which go back and forth, the round trips;
/// - with several tokens, the messages: each counts once, however many tasks it visits;
/// - with tokens of several bytes, the bytes, from end to end and once as well.
pub(crate) fn write(record: &Record, samples: &Summary, out: &mut impl Write) -> io::Result<()> {
    let (Some(_), Some(tokens)) = (record.hops, record.param("tokens")) else {
        return Ok(());
    };
    if samples.mean <= 0.0 {
        return Ok(());
    }
    let name = match (record.tasks(), tokens) {
        (Some(1), 1) => Some("round trips"),
        (_, 2..) => Some("messages"),
        _ => None,
    };
    if let Some(name) = name {
        let each = samples.mean / tokens as f64;
        let text = format!("{} per second ({} each)", Rate(1e9 / each), Nanos(each));
        row(out, name, &text)?;
    }
    match (record.param("bytes"), record.payload) {
        (Some(2..), Some(payload)) => {
            let mebibytes = payload as f64 / samples.mean * 1e9 / f64::from(1 << 20);
            let text = format!("{mebibytes:.*} MiB/s", significant(mebibytes));
            row(out, "throughput", &text)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;
    use std::time::Duration;

    #[test]
    fn rates_have_four_figures_and_commas() {
        for (rate, text) in [
            (431_034.5, "431,000"),
            (999.97, "1,000"),
            (999.4, "999.4"),
            (12.345, "12.35"),
            (0.5, "0.500"),
            (1_234.4, "1,234"),
            (12_345.0, "12,350"),
            (99_999.0, "100,000"),
            (14_012_345.0, "14,010,000"),
            (1_000_000_000.0, "1,000,000,000"),
        ] {
            assert_eq!(Rate(rate).to_string(), text, "{rate}");
        }
    }

    /// The lines of a chain whose only iteration took 2 µs.
    fn lines(tasks: u64, tokens: u64, bytes: u64) -> String {
        let mut record = Record::empty("brigade", Vec::new());
        for (name, value) in [("tasks", tasks), ("tokens", tokens), ("bytes", bytes)] {
            record.params.insert(name.to_owned(), value.into());
        }
        record.hops = Some((tasks + 1) * tokens);
        record.payload = Some(tokens * bytes);
        let mut recorder = Recorder::new(1);
        recorder.record(Duration::from_micros(2));
        let mut out = Vec::new();
        write(&record, &recorder.summary().unwrap(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_task_and_one_token_make_round_trips() {
        assert_eq!(
            lines(1, 1, 1),
            "  round trips     500,000 per second (2.000µs each)\n"
        );
    }

    #[test]
    fn several_tokens_are_messages_through_however_many_tasks() {
        for tasks in [1, 500] {
            assert_eq!(
                lines(tasks, 8, 1),
                "  messages        4,000,000 per second (250.0ns each)\n"
            );
        }
    }

    #[test]
    fn the_bytes_are_told_where_there_are_several() {
        // 1024 B in 2 µs.
        assert_eq!(lines(2, 1, 1024), "  throughput      488.3 MiB/s\n");
        assert_eq!(lines(1, 2, 512).lines().count(), 2);
    }

    #[test]
    fn a_token_through_several_tasks_is_an_iteration_and_nothing_else() {
        assert_eq!(lines(2, 1, 1), "");
    }
}
