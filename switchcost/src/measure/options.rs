//! How programs are measured, as flags say it.

use std::time::{Duration, Instant};

use crate::plan::values::time_limit;

/// Time that a program may take to answer or to end, if neither a user nor a budget limits it.
const USUAL: Duration = Duration::from_secs(600);

/// How programs are measured, as flags say it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// How long a program may take to answer or to end, before it gets SIGTERM and, 10 s later, SIGKILL [default: 10m;
    /// within a budget a quarter of it, but at least 10s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time_limit, help_heading = "Advanced")]
    pub timeout: Option<Duration>,

    /// Count events with perf_event_open(2), in an extra, untimed run of each process
    #[arg(long, help_heading = "Results")]
    pub counters: bool,

    /// When no turn begins any more: what has begun one has it, what has none is left out. The last group may exceed the
    /// time of a run by what an answer may take.
    #[arg(skip)]
    pub end: Option<Instant>,

    /// Commands, for `sh -c`, around the second side of a duel: one before its processes start and before each group of
    /// its slices, and one after them, even if they failed.
    #[arg(skip)]
    pub around: Option<[String; 2]>,
}

impl Options {
    /// Time that a program may take to answer or to end.
    pub(super) fn limit(&self) -> Duration {
        self.timeout.unwrap_or(USUAL)
    }

    /// For a run that began then and has so much time: unless it is given, an answer may take a quarter of that, since
    /// an interval takes five rounds, and 10 s in any case.
    pub fn set_end(&mut self, length: Option<Duration>, begun: Instant) {
        let quarter = length.map(|length| (length / 4).max(Duration::from_secs(10)).min(USUAL));
        self.timeout = self.timeout.or(quarter);
        self.end = length.map(|length| begun + length + self.limit());
    }
}
