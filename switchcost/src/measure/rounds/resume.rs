//! Continues a run that was interrupted.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use anyhow::ensure;
use facts::Run;

use super::{Rounds, largest_slice};
use crate::measure::store::Contents;
use crate::plan::{Case, Identity, Point};
use crate::system::console::shell_line;

/// Why records do not belong to a plan.
const OTHER_PLAN: &str = "it was made with another plan or other options: give the same ones";

impl Rounds {
    /// Continues after the end of a file, if it was made with the same plan, options and build, and on the same machine.
    /// Processes that were interrupted or failed run again.
    pub(super) fn resume(&mut self, earlier: Contents, cases: &[Case]) -> anyhow::Result<()> {
        let Some(header) = earlier.runs.last() else { return Ok(()) };
        ensure!(earlier.runs.len() == 1, "it holds several runs, and only one can be continued");
        ensure_same(header, &self.header)?;
        let known: HashMap<Point, &Case> =
            cases.iter().rev().map(|case| (case.point(), case)).collect();
        for record in earlier.records.iter().filter(|record| record.is_whole()) {
            let identity = Identity::from(&record.process);
            ensure!(
                known.get(&identity.point).is_some_and(|case| case.args() == record.args),
                "{}: {}",
                OTHER_PLAN,
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

/// Checks that one run can go on with another: the same machine, settings, build, plan and duel.
fn ensure_same(earlier: &Run, run: &Run) -> anyhow::Result<()> {
    let mut facts = earlier.machine.same_machine(&run.machine);
    // Nothing tells whether two trees that were changed are the same; the tables warn of them.
    let of_build = earlier.build.same_build(&run.build);
    facts.extend(of_build.into_iter().filter(|fact| fact != "dirty"));
    ensure!(
        facts.is_empty(),
        "it was made on another machine, with other settings or by another build ({} differ): write a new file by \
         --out, and compare the two by `switchcost compare`",
        facts.join(", ")
    );
    ensure!(earlier.plan == run.plan && earlier.seed == run.seed, OTHER_PLAN);
    ensure!(
        earlier.sides == run.sides,
        "it was made by another command, or it is a duel between other sides"
    );
    ensure!(earlier.margin == run.margin, "it is a duel with another --fail-above");
    Ok(())
}
