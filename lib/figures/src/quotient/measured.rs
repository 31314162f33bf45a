//! What was measured of a figure on both sides, and what its change says.

use std::collections::BTreeSet;

use record::Quantity;
use serde::Serialize;
use stats::{Contrast, Estimate, Interval, Mode, modes};

use super::Quotient;
use crate::doubt::RESTLESS;
use crate::grade::Grade;
use crate::value::Value;
use crate::verdict::{MIN_PAIRS, Reason, Verdict};

/// Change that is shown as none, as a share: a count that has rounding alone is no other count.
const NOTHING: f64 = 0.0005;

/// Fewest pairs of single runs whose interval is by ranks. On `epyc8`, of 25 pairs of equal runs of 3 and 4 ms, it is 1 and
/// 9 % narrower than Student's, of 60 pairs 8 and 24 %; of 18 pairs it is 6 % wider. Pairs of programs that take turns are
/// medians already: of 18 to 45 such pairs on `xeon6b`, it is 0 to 4 % wider.
const RANKED: usize = 20;

/// Count per hop or task below which there is next to none.
const SCARCE: f64 = 0.001;

/// Figure that is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Time per hop, task or iteration: medians over turns.
    Time,
    /// The same by means, which pauses in fewer than half of the turns change, too.
    Mean,
    /// Bytes per task.
    Memory,
    /// Voluntary switches per hop, task or iteration.
    Switches,
    /// Minor page faults per hop, task or iteration.
    Faults,
    /// CPU time of a run of a command, of all its processes.
    Cpu,
    /// System calls of a run, likewise.
    SystemCalls,
    /// Instructions of a run, likewise.
    Instructions,
    /// Largest resident set of a process of a run.
    Peak,
    /// What the metric of the row says.
    #[default]
    Figure,
}

impl Kind {
    /// True for a time of a duel.
    pub fn is_time(self) -> bool {
        matches!(self, Kind::Time | Kind::Mean | Kind::Cpu)
    }

    /// What it is beside the row's main figure; `None` for that.
    pub fn label(self) -> Option<&'static str> {
        match self {
            Kind::Mean => Some("mean, with pauses"),
            Kind::Switches => Some("voluntary switches"),
            Kind::Faults => Some("minor faults"),
            Kind::Cpu => Some("CPU time"),
            Kind::SystemCalls => Some("system calls"),
            Kind::Instructions => Some("instructions"),
            Kind::Peak => Some("peak memory"),
            Kind::Time | Kind::Memory | Kind::Figure => None,
        }
    }

    /// True for a count of a duel, which can be exact; false for a time and a size.
    pub fn is_count(self) -> bool {
        matches!(self, Kind::Switches | Kind::Faults | Kind::SystemCalls | Kind::Instructions)
    }
}

/// Figures of two fresh processes that took turns, the first side's before the second's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Pair {
    /// For each hop or task.
    pub(crate) figures: [f64; 2],
    /// Logarithm of second ÷ first, the median over the turns; `None` if the figures alone tell.
    pub(crate) by_turns: Option<f64>,
}

impl Pair {
    /// From the first to the second: a logarithm if it is a share, or else the difference.
    fn change(&self, is_share: bool) -> f64 {
        match (self.by_turns, self.figures) {
            (Some(log_ratio), _) => log_ratio,
            (None, [first, second]) if is_share => (second / first).ln(),
            (None, [first, second]) => second - first,
        }
    }

    /// Between both: a logarithm if the change is a share.
    fn middle(&self, is_share: bool) -> f64 {
        let [first, second] = self.figures;
        if is_share { f64::midpoint(first.ln(), second.ln()) } else { f64::midpoint(first, second) }
    }
}

/// What was measured of both sides, before it is judged together with all others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    pub kind: Kind,
    #[serde(skip)]
    pub quantity: Quantity,
    /// True if the change is a share of the first side, and not a difference.
    pub is_share: bool,
    /// True if all processes of a side, twins too, had the same count: of each side.
    pub is_exact: bool,
    /// The first side's and the second's figure. Of pairs: their common mean, apart by the change. Times and counts
    /// are for each hop or task.
    pub figures: Option<[f64; 2]>,
    /// The same with an interval of each side, if it has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimates: Option<[Estimate; 2]>,
    pub grade: Grade,
    /// The change: a logarithm if it is a share.
    #[serde(skip)]
    pub(crate) change: Option<Contrast>,
    #[serde(skip)]
    pub(crate) twin: Option<Contrast>,
    /// True if intervals are by ranks once pairs are many: single runs have heavy tails.
    #[serde(skip)]
    pub(crate) is_of_runs: bool,
    /// Why nothing can be said without an interval of the change.
    #[serde(skip)]
    pub(crate) lack: Reason,
    /// Logarithm by which the interval is longer at each end.
    #[serde(skip)]
    slack: f64,
    /// The pairs from which it is made, if the sides took turns; below them, the pairs of twins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pairs: Vec<Pair>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) twins: Vec<Pair>,
}

impl Measured {
    /// Nothing yet.
    pub fn new(kind: Kind, quantity: Quantity) -> Self {
        Measured {
            kind,
            quantity,
            is_share: true,
            is_exact: false,
            figures: None,
            estimates: None,
            grade: Grade::Sure,
            change: None,
            twin: None,
            is_of_runs: false,
            lack: Reason::FewSlices,
            slack: 0.0,
            pairs: Vec::new(),
            twins: Vec::new(),
        }
    }

    /// Two values that share no round. `change` is theirs, or what it is beside the machine's own, and the interval
    /// is longer by `slack`, a logarithm.
    pub fn of_values(
        quantity: Quantity,
        [old, new]: [&Value; 2],
        change: Result<Contrast, Reason>,
        slack: f64,
    ) -> Self {
        let estimates = match change {
            Err(Reason::TwoModes) => None,
            _ => Some([old.estimate, new.estimate]),
        };
        Measured {
            figures: estimates.map(|both| both.map(|estimate| estimate.value)),
            estimates,
            grade: old.grade.max(new.grade),
            change: change.ok(),
            lack: change.err().unwrap_or(Reason::FewRounds),
            slack,
            ..Measured::new(Kind::Figure, quantity)
        }
    }

    /// Pairs that took turns, and pairs of twins.
    pub(crate) fn of_pairs(kind: Kind, pairs: Vec<Pair>, twins: Vec<Pair>, grade: Grade) -> Self {
        let mut figures = pairs.iter().chain(&twins).flat_map(|pair| pair.figures);
        let is_share = figures.all(|figure| figure > 0.0);
        let changes: Vec<f64> = pairs.iter().map(|pair| pair.change(is_share)).collect();
        let twin: Vec<f64> = twins.iter().map(|pair| pair.change(is_share)).collect();
        let middles: Vec<f64> = pairs.iter().map(|pair| pair.middle(is_share)).collect();
        let means = stats::mean(&middles).zip(stats::mean(&changes));
        let figures = means.map(|(middle, change)| {
            let figures = [middle - change / 2.0, middle + change / 2.0];
            figures.map(|figure| if is_share { figure.exp() } else { figure })
        });
        let first = pairs.iter().map(|pair| pair.figures[0]);
        let first = first.chain(twins.iter().flat_map(|pair| pair.figures));
        let second = pairs.iter().map(|pair| pair.figures[1]);
        let is_exact = kind.is_count() && !twins.is_empty() && is_one(first) && is_one(second);
        let quantity = match kind {
            Kind::Time | Kind::Mean | Kind::Cpu => Quantity::Time,
            Kind::Memory | Kind::Peak => Quantity::Bytes,
            _ => Quantity::Count,
        };
        Measured {
            is_share,
            is_exact,
            figures,
            grade,
            change: Contrast::mean(&changes),
            twin: Contrast::mean(&twin),
            pairs,
            twins,
            ..Measured::new(kind, quantity)
        }
    }

    /// The same of single runs: a few far values hardly move their figures or, if there are enough pairs, their interval.
    pub(crate) fn of_runs(self) -> Self {
        let is_share = self.is_share;
        let middles: Vec<f64> = self.pairs.iter().map(|pair| pair.middle(is_share)).collect();
        let change = self.ranked(&self.pairs, 0.5).map(|change| change.estimate);
        let figures = stats::median(&middles).zip(change).map(|(middle, change)| {
            let figures = [middle - change / 2.0, middle + change / 2.0];
            figures.map(|figure| if is_share { figure.exp() } else { figure })
        });
        Measured { is_of_runs: true, figures: figures.or(self.figures), ..self }
    }

    /// Interval of the change of pairs by their ranks.
    fn ranked(&self, pairs: &[Pair], confidence: f64) -> Option<Interval> {
        let changes: Vec<f64> = pairs.iter().map(|pair| pair.change(self.is_share)).collect();
        stats::rank_interval(&changes, confidence)
    }

    /// Interval of a change with this share of the error: by ranks if there are enough pairs.
    fn interval(&self, change: Option<Contrast>, pairs: &[Pair], level: f64) -> Option<Interval> {
        let is_ranked = self.is_of_runs && pairs.len() >= RANKED;
        let by_ranks = is_ranked.then(|| self.ranked(pairs, 1.0 - level)).flatten();
        by_ranks.or_else(|| change?.interval(1.0 - level))
    }

    /// Interval of its change: a logarithm if it is a share.
    pub(crate) fn change_interval(&self, level: f64) -> Option<Interval> {
        self.interval(self.change, &self.pairs, level)
    }

    /// With its interval, its twin's, which has this level, and its verdict. Of fewer than [`MIN_PAIRS`] nothing is said.
    pub(super) fn judged(self, level: f64, own_level: f64, margin: f64) -> Quotient {
        let change = self.change_interval(own_level);
        let slack = self.slack;
        let change = change.map(|i| Interval { low: i.low - slack, high: i.high + slack, ..i });
        let change = change.map(|change| self.shown(change));
        let twin = self.twin_interval(level);
        let is_short = (1..MIN_PAIRS).contains(&self.pairs.len());
        let verdict = match change.filter(|_| !is_short) {
            Some(change) => self.verdict_on(change, twin, margin),
            None => Verdict::Inconclusive(self.lack),
        };
        Quotient { measured: self, verdict, change, twin }
    }

    /// Its twin's change, with this share of the error.
    pub(crate) fn twin_interval(&self, level: f64) -> Option<Interval> {
        let twin = self.interval(self.twin, &self.twins, level);
        twin.map(|twin| self.shown(twin))
    }

    /// An interval as it is shown: logarithms as shares.
    fn shown(&self, interval: Interval) -> Interval {
        if self.is_share { interval.map(f64::exp_m1) } else { interval }
    }

    /// The two groups that the second sides form beside the first ones, as shares of these: what a whole round is slower
    /// by is in neither. Counts fall into groups by their nature, and means by their pauses.
    pub(crate) fn modes(&self) -> Option<[Mode; 2]> {
        let is_judged = self.is_share && matches!(self.kind, Kind::Time | Kind::Memory);
        let is_judged = is_judged && !self.is_of_runs;
        let ratios = self.pairs.iter().filter(|_| is_judged).map(|pair| pair.change(true).exp());
        modes(&ratios.collect::<Vec<f64>>())
    }

    /// The two modes of the runs of either side, if these are single runs.
    pub fn modes_of_runs(&self) -> [Option<[Mode; 2]>; 2] {
        let pairs = self.pairs.iter().filter(|_| self.is_of_runs && self.kind == Kind::Time);
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.map(|pair| pair.figures.into()).unzip();
        [first, second].map(|figures| modes(&figures))
    }

    /// Number of pairs of twins.
    pub fn twins(&self) -> u32 {
        self.twins.len() as u32
    }

    /// How far apart two runs of the first side are: the median, as a share. `None` unless these are single runs.
    pub fn noise(&self) -> Option<f64> {
        let apart: Vec<f64> = self.twins.iter().map(|pair| pair.change(true).abs()).collect();
        stats::median(&apart).filter(|_| self.is_of_runs && self.is_share).map(f64::exp_m1)
    }

    /// True if most twins differ by as much as this change may be, and by so much that it is a doubt.
    fn is_noise(&self, change: &Interval) -> bool {
        let twins: Vec<f64> = self.twins.iter().map(|pair| pair.change(true).abs()).collect();
        // Single runs have no bias that they share with others.
        let is_judged = self.is_share && !self.is_of_runs;
        let apart = stats::median(&twins).filter(|log| is_judged && log.exp_m1() > RESTLESS);
        let least = change.low.ln_1p().abs().min(change.high.ln_1p().abs());
        apart.is_some_and(|apart| least <= apart)
    }

    /// What this change says, by the interval of the twins if it is known.
    pub(crate) fn verdict_on(
        &self,
        change: Interval,
        twin: Option<Interval>,
        margin: f64,
    ) -> Verdict {
        if let Some(reason) = Reason::of(self.grade) {
            return Verdict::Inconclusive(reason);
        }
        if twin.is_some_and(|twin| !twin.contains(0.0) && !self.is_nothing(&twin)) {
            return Verdict::Inconclusive(Reason::TwinDiffers);
        }
        if self.modes().is_some() {
            return Verdict::Inconclusive(Reason::TwoModes);
        }
        if self.kind == Kind::Memory && !self.is_share {
            return Verdict::Inconclusive(Reason::NoSize);
        }
        // The margin of a difference is a share of the larger side: the other one may be zero.
        let larger = self.figures.map_or(0.0, |[a, b]| a.max(b));
        let scale = if self.is_share { 1.0 } else { larger };
        let verdict = if self.is_nothing(&change) {
            Verdict::Within(0.0)
        } else {
            Verdict::of([change.low / scale, change.high / scale], margin)
        };
        // If the figures beside it contradict the word, the machine changed.
        let shown = self.estimates.map_or(0.0, |[a, b]| b.value / a.value - 1.0);
        match verdict {
            Verdict::Within(_) if shown.abs() > margin.max(NOTHING) => {
                Verdict::Inconclusive(Reason::Machine)
            }
            Verdict::More | Verdict::Less if self.is_noise(&change) => {
                Verdict::Inconclusive(Reason::TwinsAsMuch)
            }
            Verdict::More if shown < 0.0 => Verdict::Inconclusive(Reason::Machine),
            Verdict::Less if shown > 0.0 => Verdict::Inconclusive(Reason::Machine),
            verdict => verdict,
        }
    }

    /// True if there is next to none of it, such as a timer's switch in a thousand hops.
    pub fn is_scarce(&self) -> bool {
        self.kind.is_count() && self.figures.iter().flatten().all(|&figure| figure < SCARCE)
    }

    /// True if a change would be shown as none.
    pub(super) fn is_nothing(&self, change: &Interval) -> bool {
        let scale = if self.is_share { 1.0 } else { self.figures.map_or(1.0, |[a, _]| a.max(1.0)) };
        self.is_scarce() || change.low.abs().max(change.high.abs()) < NOTHING * scale
    }
}

fn is_one(counts: impl Iterator<Item = f64>) -> bool {
    counts.map(f64::to_bits).collect::<BTreeSet<u64>>().len() == 1
}
