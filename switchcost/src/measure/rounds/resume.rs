//! A run that goes on where an earlier one was stopped.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use anyhow::ensure;

use super::{Rounds, largest_slice};
use crate::measure::header;
use crate::measure::store::Contents;
use crate::plan::{Case, Identity, Point};
use crate::system::console::shell_line;

impl Rounds {
    /// Goes on where a file ends, if that was made by the same plan, options and build, and on the same machine.
    /// Processes that were interrupted or failed are run again.
    pub(super) fn resume(&mut self, earlier: Contents, cases: &[Case]) -> anyhow::Result<()> {
        let Some(header) = earlier.runs.last() else { return Ok(()) };
        ensure!(earlier.runs.len() == 1, "it holds several runs");
        header::ensure_same(header, &self.header)?;
        let known: HashMap<Point, &Case> =
            cases.iter().rev().map(|case| (case.point(), case)).collect();
        for record in earlier.records.iter().filter(|record| record.is_whole()) {
            let identity = Identity::from(&record.process);
            ensure!(
                known.get(&identity.point).is_some_and(|case| case.args() == record.args),
                "{}: {}",
                header::OTHER_PLAN,
                shell_line([&record.program].into_iter().chain(&record.args))
            );
            self.done.insert((record.round, identity));
            self.sizes.extend(largest_slice(&record.process).map(|size| (identity, size)));
        }
        self.header = header.clone();
        let now = facts::record::milliseconds(SystemTime::now());
        let since = Duration::from_millis(now.saturating_sub(header.started));
        self.begun = self.begun.checked_sub(since).unwrap_or(self.begun);
        self.records = earlier.records;
        Ok(())
    }
}
