//! Exit status of a comparison: 0 if nothing is worse, 1 if something is, 2 for wrong use, 3 if nothing can be said,
//! 125 if a side cannot be built or a row failed (with which `git bisect run` skips a revision).

use std::fmt;

use anyhow::ensure;
use clap::ValueEnum;
use figures::number::percent;
use figures::quotient::{Compared, Kind, Quotient};

use crate::system::console;

/// The end of a comparison: its own exit status, and the reason.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: u8,
    why: String,
}

impl End {
    /// No verdict on the figures that were asked for; the reason says what to do.
    pub(crate) fn nothing_said(why: &str) -> Self {
        End { status: 3, why: format!("nothing can be said: {why}") }
    }

    /// A side that cannot be built, or a row that failed.
    pub(crate) fn untested(why: String) -> Self {
        End { status: 125, why }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for End {}

/// Figures that may fail a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gate {
    /// times, memory and counts
    All,
    /// everything but times: voluntary switches, page faults and resident memory per task
    Counts,
    /// only times
    Times,
}

impl Gate {
    fn includes(self, kind: Kind) -> bool {
        match self {
            Gate::All => true,
            Gate::Counts => kind != Kind::Time,
            Gate::Times => kind == Kind::Time,
        }
    }

    /// The exit status, as an error unless it is 0. Without a `limit` nothing is worse; `remedy` says what to do if
    /// nothing can be said.
    pub(crate) fn judge(
        self,
        rows: &[Compared],
        limit: Option<f64>,
        remedy: &str,
    ) -> anyhow::Result<()> {
        let names = |is_wanted: &dyn Fn(&Compared) -> bool| {
            let names = rows.iter().filter(|row| is_wanted(row)).map(|row| &*row.name);
            names.collect::<Vec<&str>>().join("; ")
        };
        let share = limit.unwrap_or(f64::INFINITY);
        let is_worse = |f: &Quotient| self.includes(f.kind) && f.is_worse_than(share);
        let worse = names(&|row| row.quotients.iter().any(is_worse));
        let failed = names(&Compared::has_failed);
        let mut quotients = rows.iter().flat_map(|row| &row.quotients).peekable();
        ensure!(worse.is_empty(), "worse by more than {}: {worse}", percent(share));
        ensure!(
            failed.is_empty() || (limit.is_none() && quotients.peek().is_some()),
            End::untested(format!("failed or missing: {failed}"))
        );
        // Of the time, counts say nothing: with a limit, a change of them alone does not let a build pass.
        let is_said = |quotient: &Quotient| match quotient.kind {
            kind if self == Gate::All && kind.is_count() => {
                limit.is_none() && quotient.verdict.has_changed()
            }
            kind => self.includes(kind) && !quotient.verdict.is_open(),
        };
        let kinds = match self {
            Gate::Counts => "count or size",
            Gate::All => "time, size or rate",
            Gate::Times => "time",
        };
        let why = format!("no {kinds} has a verdict; {remedy}");
        ensure!(quotients.any(is_said), End::nothing_said(&why));
        let is_spared = |f: &Quotient| limit.is_some() && f.is_worse_than(0.0);
        for (is_judged, why) in [(true, "perhaps within --fail-above"), (false, "not judged")] {
            let spared = |f: &Quotient| self.includes(f.kind) == is_judged && is_spared(f);
            let spared = names(&|row| row.quotients.iter().any(spared));
            if !spared.is_empty() {
                console::say(format_args!("worse, but {why}: {spared}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use record::{Quantity, Why};

    use super::*;
    use figures::verdict::{Reason, Verdict};

    fn row(fault: Option<Why>, switches: f64) -> Compared {
        let found = |kind, verdict, change: f64| {
            let mut quotient = Quotient::new(kind, Quantity::Count);
            quotient.verdict = verdict;
            quotient.change = stats::t_interval(&[change; 8], 0.99);
            quotient.figures = Some([1.0, 1.0 + change]);
            quotient
        };
        let quotients = vec![
            found(Kind::Time, Verdict::Inconclusive(Reason::FewSlices), 0.0),
            found(Kind::Switches, Verdict::of([switches; 2], 0.05), switches),
        ];
        let quotients = if fault.is_some() { Vec::new() } else { quotients };
        let name = "row".to_owned();
        Compared { name, fault, quotients, kind: Kind::Time, ..Compared::default() }
    }

    /// `git bisect run` takes 1 as bad and 125 as untested; times that nothing can be said of hide no count.
    #[test]
    fn each_end_of_a_comparison_has_its_status() {
        let failed = || row(Some(Why::Failed("x".to_owned())), 0.0);
        let left_out = || row(Some(Why::LeftOut("x".to_owned())), 0.0);
        for (gate, rows, limit, status) in [
            (Gate::All, vec![row(None, 3.8)], Some(0.05), 1),
            (Gate::Counts, vec![row(None, 3.8), failed()], Some(0.05), 1),
            (Gate::Counts, vec![row(None, 0.0)], Some(0.05), 0),
            (Gate::Counts, vec![row(None, 0.0), left_out()], Some(0.05), 0),
            (Gate::Counts, vec![row(None, 0.0), failed()], Some(0.05), 125),
            (Gate::Counts, vec![row(None, 0.0), failed()], None, 0),
            (Gate::All, vec![failed()], None, 125),
            (Gate::Times, vec![row(None, 3.8)], Some(0.05), 3),
            (Gate::All, vec![row(None, 0.0)], None, 3),
            (Gate::All, vec![row(None, 3.8)], None, 0),
            (Gate::All, vec![row(None, -0.8)], Some(0.05), 3),
        ] {
            let end = match gate.judge(&rows, limit, "") {
                Ok(()) => 0,
                Err(error) => error.downcast_ref::<End>().map_or(1, |end| end.status),
            };
            assert_eq!(end, status, "{gate:?} {rows:?}");
        }
    }
}
