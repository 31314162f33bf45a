//! Values of flags that more than one verb takes.

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;

use crate::measure::turns::Options;

/// Characters of a line that are printed before and behind a gap.
const ENDS: [usize; 2] = [400, 100];

/// A message with the middle of each long line left out: it may quote an argument of any length.
pub(crate) fn shortened(text: &str) -> String {
    let [front, back] = ENDS;
    let line = |line: &str| {
        let length = line.chars().count();
        if length <= front + back {
            return line.to_owned();
        }
        let begin: String = line.chars().take(front).collect();
        let end: String = line.chars().skip(length - back).collect();
        format!("{begin} … {end}")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A share such as `2%`, `0.5%` or `2`, all in per cent, from 0 up.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value / 100.0),
        _ => Err(format!("'{text}' is not a share: write one such as 2%")),
    }
}

/// Longest span of time: a clock can be asked for a time so far away.
const LONGEST: Duration = Duration::from_secs(10_000 * 24 * 3600);

/// A span of time such as `90s` or `2m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(span) if span <= LONGEST => Ok(span),
        Ok(_) => Err(format!("'{text}' is too long: 10000days at most")),
        Err(_) => Err(format!("'{text}' is not a span of time: write one such as 90s or 2m")),
    }
}

/// A span of time that is not nothing.
pub(crate) fn time_limit(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("no time is too little: write a span such as 10m".to_owned()),
        span => Ok(span),
    }
}

/// Output of a verb whose answer is no table of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextOrJson {
    /// for a terminal
    Text,
    /// for programs
    Json,
}

/// A program and its own flags, which end the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct ProgramArgs {
    /// The program, by its name or its path, and its flags
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<String>,
}

impl ProgramArgs {
    /// The program and its flags.
    pub(crate) fn split(&self) -> anyhow::Result<(&str, &[String])> {
        let (program, flags) = self.program.split_first().context("no program is named")?;
        Ok((program, flags))
    }
}

/// How each process is measured.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Measure {
    /// Time that a program may take to answer or to end; then it is ended by SIGTERM, and 10 s later by SIGKILL
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "10m", value_parser = time_limit, help_heading = "Advanced")]
    timeout: Duration,

    /// Keep each sample in the results, not only their summary
    #[arg(long, help_heading = "Results")]
    keep_samples: bool,

    /// Count events (perf_event_open(2)) in a further run of each process that is not timed
    #[arg(long, help_heading = "Results")]
    counters: bool,
}

impl Measure {
    /// The same for whatever runs a process.
    pub(crate) fn options(self) -> Options {
        Options { timeout: self.timeout, keep_samples: self.keep_samples, counters: self.counters }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    use super::*;

    proptest! {
        #![proptest_config(Config {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(1),
            ..Config::default()
        })]

        #[test]
        fn any_text_is_a_share_or_a_span_or_is_refused(text in "[-+0-9.e]{0,12} ?[%a-z]{0,3}|\\PC*") {
            if let Ok(share) = percent(&text) {
                prop_assert!(share.is_finite() && share >= 0.0);
            }
            let _ = duration(&text);
        }
    }

    #[test]
    fn long_lines_lose_their_middle() {
        let short = "a\n\u{436}\n".repeat(1000);
        assert_eq!(shortened(&short), short);
        let long = shortened(&format!("begin {} end\nnext", "ж".repeat(100_000)));
        assert!(long.starts_with("begin жж") && long.ends_with("жж end\nnext"));
        assert!(long.chars().count() < 520, "{long}");
    }

    #[test]
    fn shares_and_spans_are_read() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent("0.5 %"), Ok(0.005));
        assert_eq!(percent("150"), Ok(1.5));
        assert_eq!(percent("0"), Ok(0.0));
        for text in ["", "%", "-1%", "inf", "nan", "two"] {
            assert!(percent(text).is_err(), "{text}");
        }
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(time_limit("10m"), Ok(Duration::from_secs(600)));
        assert!(time_limit("0s").is_err());
        assert_eq!(duration("10000days"), Ok(LONGEST));
        for text in ["", "90", "-5s", "soon", "10001days", "500000000000years"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
