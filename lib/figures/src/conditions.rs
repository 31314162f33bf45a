//! What the machine did while a plan ran.

use std::collections::BTreeMap;
use std::fmt;

use host::units::counted;
use record::{Account, Record};
use serde::Serialize;

use super::cube::Figures;
use super::doubt::{Doubt, DoubtKind, RESTLESS};
use super::doubts;
use super::figure::Figure;
use super::number::{capitalised, percent};
use super::speed::Speed;

/// From this share of the CPU time on, time used by others or stolen is a doubt.
const BUSY: f64 = 0.05;

/// If the CPUs are slower by this share, in the median, the noise is high.
const SLOWED: f64 = 0.1;

/// From this share on, the change of a yardstick over the rounds is a doubt.
const DRIFT: f64 = 0.1;

/// What is known about a machine while a plan ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Conditions {
    #[serde(rename = "slices")]
    pub(crate) speed: Speed,
    /// CPU time of all windows; `None` for records that have none.
    pub(crate) account: Option<Account>,
    /// Median distance of two equal runs of a round, as a share.
    pub(crate) apart: Option<f64>,
    pub(crate) rounds: u32,
    /// From the start of the first process to the start of the last one, in ms.
    pub span: u64,
}

impl Conditions {
    /// What the machine did while the figures were measured.
    pub fn of(figures: &Figures<'_>) -> Self {
        let records = figures.records;
        let groups = records.iter().filter_map(|record| record.group.as_ref());
        let accounts = groups.clone();
        let accounts: BTreeMap<(u64, u32), Account> =
            accounts.filter_map(|group| Some(((group.run, group.group), group.account?))).collect();
        // The logarithm of the larger figure over the smaller one.
        let ratios = figures.iter().filter_map(|figure| figures.twin_ratio(figure));
        let logs = ratios
            .flat_map(|ratio| ratio.rounds().map(|ratio| ratio.ln().abs()).collect::<Vec<f64>>());
        let apart: Vec<f64> = logs.filter(|distance| distance.is_finite()).collect();
        // A row that was not tried has no time; what ran last ended with its group.
        let tried = records.iter().filter(|record| record.not_run.is_none());
        let starts = tried.map(|record| record.started);
        let first = starts.clone().min().unwrap_or(0);
        let last = groups.map(|group| group.ended).chain(starts).max().unwrap_or(0);
        Conditions {
            speed: figures.speed.clone(),
            account: accounts.into_values().reduce(Account::plus),
            apart: stats::median(&apart).map(f64::exp_m1),
            rounds: records.iter().map(|r| r.round.saturating_add(1)).max().unwrap_or(1),
            span: last.saturating_sub(first),
        }
    }

    /// Reasons, by what the machine did, why all figures are less certain.
    pub fn doubts(&self, figures: &Figures<'_>) -> Vec<Doubt> {
        let account = self.account.as_ref();
        let busy = account.and_then(Account::others).unwrap_or(0.0);
        let stolen = account.and_then(Account::stolen).unwrap_or(0.0);
        let apart = self.apart.unwrap_or(0.0);
        let busy_text = "This machine was busy: other programs used {} of its CPU time.";
        let apart_text = "This machine was unsteady: two equal runs differed by {}.";
        let doubts = [
            Doubt::above(BUSY, DoubtKind::Busy, busy, busy_text),
            Doubt::above(BUSY, DoubtKind::Stolen, stolen, "The host took {} of the CPU time."),
            Doubt::above(RESTLESS, DoubtKind::Unsteady, apart, apart_text),
            drift(figures),
            throttled(figures.records),
        ];
        doubts.into_iter().flatten().collect()
    }

    /// How noisy the machine was, by the worst sign of it, and how long the run took.
    pub fn in_short(&self, doubts: &[Doubt]) -> String {
        let apart =
            self.apart.map(|apart| (apart, format!("equal runs differed by {}", percent(apart))));
        let slower = self.speed.slower.filter(|&slower| slower > SLOWED);
        let slower =
            slower.map(|slower| (slower, format!("CPUs ran {} below full speed", percent(slower))));
        let high = apart.clone().filter(|(apart, _)| *apart > RESTLESS / 2.0).into_iter();
        let high = high.chain(slower).chain(doubts.iter().filter_map(Doubt::noise));
        let (word, why) = match (high.max_by(|a, b| a.0.total_cmp(&b.0)), apart) {
            (Some((_, worst)), _) => ("High", worst),
            (None, Some((_, apart))) => ("Low", apart),
            (None, None) => ("Unknown", "no row has a twin".to_owned()),
        };
        format!("{word} noise ({why}), {} s.", self.span.div_ceil(1000))
    }
}

/// Doubts about all figures, their records and the machine meanwhile, the loudest first.
pub fn all_doubts(figures: &Figures<'_>) -> Vec<Doubt> {
    let conditions = Conditions::of(figures).doubts(figures);
    doubts::of_all(figures.records, doubts::named(figures.iter()), conditions)
}

/// A quota that stopped more than half of the groups, with the time of all.
fn throttled(records: &[Record]) -> Option<Doubt> {
    let groups = records.iter().filter_map(|record| record.group.as_ref());
    let times: BTreeMap<(u64, u32), u64> =
        groups.map(|g| ((g.run, g.group), g.waits.throttled.unwrap_or(0))).collect();
    let stopped = times.values().filter(|&&ns| ns > 0).count();
    let total = times.values().copied().fold(0, u64::saturating_add);
    (2 * stopped > times.len()).then(|| doubts::quota(total))
}

/// The largest clear change of a yardstick over the rounds; of several sessions, one that half of them have.
fn drift(figures: &Figures<'_>) -> Option<Doubt> {
    let yardsticks = figures.iter().filter(|figure| figure.runs.row.ties.yardstick);
    let drifts = yardsticks.filter_map(|figure| {
        let sessions = figure.by_session();
        let mut changes: Vec<f64> = sessions.iter().filter_map(change).collect();
        changes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let change = *changes.get(changes.len() / 2)?;
        (2 * changes.len() >= sessions.len()).then(|| (figure.place().name(), change))
    });
    let (name, change) = drifts.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let size = change.abs();
    let less = if change > 0.0 { "more" } else { "less" };
    let text =
        format!("The machine changed: {name} took {} {less} time at the end.", percent(size));
    Some(Doubt::on(DoubtKind::Drift, &name, size, text))
}

/// Clear change of a time over the rounds of a session, as a share.
fn change(figure: &Figure<'_>) -> Option<f64> {
    let logs: Vec<f64> = figure.runs.means().into_values().map(f64::ln).collect();
    let rounds: Vec<f64> = (0..logs.len()).map(|round| round as f64).collect();
    let slope = stats::fit_line(&rounds, &logs)?.slope;
    let change = (slope.estimate * (logs.len() - 1) as f64).exp_m1();
    (!slope.contains(0.0) && change.abs() > DRIFT).then_some(change)
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(slower) = self.speed.slower {
            let Speed { slices, stolen, others, .. } = self.speed;
            let (slower, lost) = (percent(slower.max(0.0)), stolen + others);
            let was = if lost == 1 { "was" } else { "were" };
            parts.push(format!(
                "the CPUs ran {slower} below full speed (median over {}); {} {was} left out, since other work took CPU time \
                 from them",
                counted(slices, "slice"),
                counted(lost, "slice")
            ));
        }
        if let Some(account) = &self.account {
            let others = account.others().map_or("an unknown share".to_owned(), percent);
            let stolen = account.stolen().map_or("an unknown share".to_owned(), percent);
            let missing = account.unaccounted().map_or(String::new(), |share| {
                let how = if share > 0.0 { "miss" } else { "exceed the whole by" };
                format!("; the kernel's counters {how} {}", percent(share.abs()))
            });
            parts.push(format!(
                "other programs used {others} of the CPU time, the host {stolen}{missing}"
            ));
        }
        parts.push(match self.apart {
            Some(apart) => format!("two equal runs differed by {}", percent(apart)),
            None => "no row has a twin".to_owned(),
        });
        parts.push(counted(self.rounds, "round"));
        let line = parts.join("; ") + ".";
        f.write_str(&capitalised(&line))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use record::{Group, Waits};

    use super::*;
    use crate::testing;
    use crate::trials::{row, sessions};

    /// The worst sign is named, if any is worth a word.
    #[test]
    fn noise_is_high_by_its_worst_sign() {
        for (apart, slower, text) in [
            (Some(0.04), 0.09, "Low noise (equal runs differed by 4.0 %), 2 s."),
            (Some(0.06), 0.0, "High noise (equal runs differed by 6.0 %), 2 s."),
            (Some(0.06), 0.11, "High noise (CPUs ran 11 % below full speed), 2 s."),
            (None, 0.0, "Unknown noise (no row has a twin), 2 s."),
        ] {
            let speed = Speed { slower: Some(slower), ..Speed::default() };
            let conditions = Conditions { apart, speed, span: 1200, ..Conditions::default() };
            assert_eq!(conditions.in_short(&[]), text);
        }
    }

    #[test]
    fn a_yardstick_drifts_if_its_change_is_large_and_clear() {
        let (up, down) = ([100, 103, 106, 109, 112, 115], [115, 112, 109, 106, 103, 100]);
        let (small, unclear) = ([100, 101, 102, 103, 104, 105], [100, 150, 100, 150, 100, 150]);
        for (times, is_drift) in [
            (&[up][..], true),
            (&[down], true),
            (&[small], false),
            (&[unclear], false),
            (&[up, small], true),
            (&[up, up, small], true),
            (&[up, small, unclear], false),
        ] {
            let mut row = row("I/O");
            row.ties.yardstick = true;
            let records = sessions(&row, times);
            assert_eq!(drift(&Figures::of(&records)).is_some(), is_drift, "{times:?}");
        }
    }

    #[test]
    fn a_quota_counts_if_it_stopped_most_groups() {
        for (times, size) in [([1, 0], None), ([1, 2], Some(3.0))] {
            let records = [0, 1].map(|group| {
                let waits = Waits { throttled: Some(times[group]), ..Waits::default() };
                let group = Group { run: 1, group: group as u32, ended: 1, account: None, waits };
                let mut record = testing::record("p", 1, &[1]);
                record.group = Some(Arc::new(group));
                record
            });
            assert_eq!(throttled(&records).map(|doubt| doubt.size), size, "{times:?}");
        }
    }
}
