//! Exit status of a comparison: 0 if nothing is worse, 1 if something is, 2 for wrong use, 3 if nothing can be said,
//! 125 if a side cannot be built or a row failed (with which `git bisect run` skips a revision).

use std::fmt;

use anyhow::ensure;
use clap::ValueEnum;
use figures::number::percent;
use figures::quotient::{Compared, Kind, Quotient};

use crate::plan::values;
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

    /// What is worse, though it is no figure.
    pub(crate) fn worse(why: String) -> Self {
        End { status: 1, why }
    }

    /// What may be worse, and what to do.
    fn undecided(why: String) -> Self {
        End { status: 3, why }
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
pub(crate) enum GatedKinds {
    /// times, memory and counts
    All,
    /// everything but times: voluntary switches, page faults and resident memory per task
    Counts,
    /// only times
    Times,
    /// all of these, and an output of commands that differs
    Output,
}

/// What fails a comparison.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Limit {
    /// Exit with status 1 if the whole interval of a change for the worse lies above this, with 3 if part of an interval
    /// does, and with 125 if a row failed, or a file is cut short. Also the margin for 'unchanged', which is otherwise
    /// 5%, or 1% for commands; 5% and 5 mean the same
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = values::percent)]
    pub(crate) fail_above: Option<f64>,

    /// Let pass what --fail-above cannot decide, unless nothing can be said at all
    #[arg(long, requires = "fail_above")]
    pass_undecided: bool,
}

impl Limit {
    /// The largest change that counts as none; `usual` without a limit.
    pub(crate) fn margin(self, usual: f64) -> f64 {
        self.fail_above.filter(|&limit| limit > 0.0).unwrap_or(usual)
    }
}

impl GatedKinds {
    fn includes(self, kind: Kind) -> bool {
        match self {
            GatedKinds::All | GatedKinds::Output => true,
            GatedKinds::Counts => !kind.is_time(),
            GatedKinds::Times => kind.is_time(),
        }
    }

    /// The exit status, as an error unless it is 0. Without a limit nothing is worse; `remedy` says what to do if
    /// nothing can be said.
    pub(crate) fn judge(self, rows: &[Compared], limit: Limit, remedy: &str) -> anyhow::Result<()> {
        let share = limit.fail_above.unwrap_or(f64::INFINITY);
        let failed = named(rows, Compared::has_failed);
        let worse =
            figures(rows, |row, f| self.includes(f.measured.kind) && row.is_worse(f, share));
        ensure!(worse.is_empty(), "worse by more than {}: {worse}", percent(share));
        let mut quotients = rows.iter().flat_map(|row| &row.quotients).peekable();
        ensure!(
            failed.is_empty() || (limit.fail_above.is_none() && quotients.peek().is_some()),
            End::untested(format!("failed or missing: {failed}"))
        );
        ensure!(
            quotients.any(|f| self.is_said(f, limit)),
            End::nothing_said(&self.silence(remedy))
        );
        if limit.fail_above.is_none() {
            return Ok(());
        }
        let rare = figures(rows, |row, f| {
            self.includes(f.measured.kind) && f.is_worse_than(share) && !row.is_worse(f, share)
        });
        let others = figures(rows, |_, f| !self.includes(f.measured.kind) && f.is_worse_than(0.0));
        for (names, why) in [(rare, "too rare to matter"), (others, "not judged")] {
            if !names.is_empty() {
                console::say(format_args!("worse, but {why}: {names}"));
            }
        }
        let undecided =
            figures(rows, |row, f| self.includes(f.measured.kind) && row.may_be_worse(f, share));
        let why = format!("perhaps worse by more than {}: {undecided}", percent(share));
        if !undecided.is_empty() && limit.pass_undecided {
            console::say(format_args!("{why}"));
            return Ok(());
        }
        ensure!(
            undecided.is_empty(),
            End::undecided(format!("{why}; {remedy}, or --pass-undecided"))
        );
        Ok(())
    }

    /// True if a figure says that a build may pass. Of the time, counts say nothing: with a limit, a change of them alone
    /// does not let it pass.
    fn is_said(self, f: &Quotient, limit: Limit) -> bool {
        match f.measured.kind {
            kind if !matches!(self, GatedKinds::Counts | GatedKinds::Times) && kind.is_count() => {
                limit.fail_above.is_none() && f.verdict.has_changed()
            }
            kind => self.includes(kind) && !f.verdict.is_open(),
        }
    }

    fn silence(self, remedy: &str) -> String {
        let kinds = match self {
            GatedKinds::Counts => "count or size",
            GatedKinds::All | GatedKinds::Output => "time, size or rate",
            GatedKinds::Times => "time",
        };
        format!("no {kinds} has a verdict; {remedy}")
    }
}

/// Names of rows.
fn named(rows: &[Compared], is_wanted: fn(&Compared) -> bool) -> String {
    let names = rows.iter().filter(|row| is_wanted(row)).map(|row| &*row.name);
    names.collect::<Vec<&str>>().join("; ")
}

/// Names of figures: of their rows, with what they are unless it is the row's own.
fn figures(rows: &[Compared], is_wanted: impl Fn(&Compared, &Quotient) -> bool) -> String {
    let quotients = rows.iter().flat_map(|row| row.quotients.iter().map(move |f| (row, f)));
    let names = quotients.filter(|(row, f)| is_wanted(row, f)).map(|(row, f)| {
        match f.measured.kind.label() {
            Some(label) => format!("{}, {label}", row.name),
            None => row.name.clone(),
        }
    });
    names.collect::<Vec<String>>().join("; ")
}

#[cfg(test)]
mod tests {
    use record::{Quantity, Why};

    use super::*;
    use figures::quotient::Measured;
    use figures::verdict::{Reason, Verdict};

    fn row(fault: Option<Why>, switches: f64) -> Compared {
        let found = |kind, verdict, change: f64| {
            let mut quotient = Quotient::from(Measured::new(kind, Quantity::Count));
            quotient.verdict = verdict;
            quotient.change = stats::t_interval(&[change; 8], 0.99);
            quotient.measured.figures = Some([1.0, 1.0 + change]);
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
            (GatedKinds::All, vec![row(None, 3.8)], Some(0.05), 1),
            (GatedKinds::Counts, vec![row(None, 3.8), failed()], Some(0.05), 1),
            (GatedKinds::Counts, vec![row(None, 0.0)], Some(0.05), 0),
            (GatedKinds::Counts, vec![row(None, 0.0), left_out()], Some(0.05), 0),
            (GatedKinds::Counts, vec![row(None, 0.0), failed()], Some(0.05), 125),
            (GatedKinds::Counts, vec![row(None, 0.0), failed()], None, 0),
            (GatedKinds::All, vec![failed()], None, 125),
            (GatedKinds::Times, vec![row(None, 3.8)], Some(0.05), 3),
            (GatedKinds::All, vec![row(None, 0.0)], None, 3),
            (GatedKinds::All, vec![row(None, 3.8)], None, 0),
            (GatedKinds::All, vec![row(None, -0.8)], Some(0.05), 3),
        ] {
            let limit = Limit { fail_above: limit, pass_undecided: false };
            let end = match gate.judge(&rows, limit, "") {
                Ok(()) => 0,
                Err(error) => error.downcast_ref::<End>().map_or(1, |end| end.status),
            };
            assert_eq!(end, status, "{gate:?} {rows:?}");
        }
    }
    /// A row that takes 1 µs: what it does once in a thousand times cannot be worth 5 % of it.
    #[test]
    fn what_cannot_matter_fails_nothing_and_what_is_not_decided_does_not_pass() {
        let row = |time: [f64; 2], switches: f64| {
            let found = |kind, [low, high]: [f64; 2], first: f64| {
                let mut quotient = Quotient::from(Measured::new(kind, Quantity::Count));
                quotient.verdict = Verdict::of([low, high], 0.05);
                quotient.change = stats::t_interval(&[low, high], 0.5);
                quotient.measured.figures = Some([first; 2]);
                quotient
            };
            let quotients = vec![
                found(Kind::Time, time, 1000.0),
                found(Kind::Switches, [switches, switches + 0.001], 0.001),
            ];
            vec![Compared { name: "row".to_owned(), quotients, ..Compared::default() }]
        };
        let sure = [-0.01, 0.01];
        for (time, switches, pass_undecided, status) in [
            // Seven times as often, for at most 14 of 1000 ns; a hundred times as often, for up to 200 ns.
            (sure, 6.0, false, 0),
            (sure, 100.0, false, 1),
            ([-0.2, 0.3], 0.0, false, 3),
            ([0.03, 0.06], 0.0, false, 3),
            ([-0.3, -0.2], 0.0, false, 0),
            ([0.03, 0.06], 0.0, true, 0),
            // Nothing at all is said.
            ([-0.2, 0.3], 0.0, true, 3),
        ] {
            let limit = Limit { fail_above: Some(0.05), pass_undecided };
            let end = match GatedKinds::All.judge(&row(time, switches), limit, "") {
                Ok(()) => 0,
                Err(error) => error.downcast_ref::<End>().map_or(1, |end| end.status),
            };
            assert_eq!(end, status, "{time:?} {switches}");
        }
    }
}
