//! How far the times of each row follow the speed of the machine: its slope, and the cap above which none does.

use std::collections::BTreeMap;

use record::{Place, Record};

/// Share of the residuals that is left out at each end of a fit: slices with a pause of their own.
const TRIM: f64 = 0.05;

/// Caps that are tried.
const CAPS: [f64; 14] =
    [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.85, 1.0];

/// Variance of a normal distribution between its 5 % and its 95 % quantile, as a share of the whole: what the trimmed
/// rest of a fit shows of its variance.
const TRIMMED: f64 = 0.623;

/// Mean slope and standard deviation of slopes, over the rows of the committed records.
const SLOPES: (f64, f64) = (0.9, 0.3);

/// Least share of the slowness that probes are said to tell: less is noise.
const LEAST_TOLD: f64 = 1e-6;

/// Fewest degrees of freedom of a fit: the trimmed rest of fewer is next to nothing.
const FEWEST: f64 = 8.0;

/// Largest leverage of a round that its influence is corrected for.
const PULL: f64 = 0.9;

/// Steepest slope: no program depends on a CPU's units twice as much as the probe.
const STEEPEST: f64 = 2.0;

/// Round of a run.
pub type Round = (u64, u64, u32);

/// A slice as the fit sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) turn: u32,
    pub(crate) x: f64,
    /// Half of what the slowness after it is more than the slowness before it.
    pub(crate) apart: f64,
    pub(crate) y: f64,
    /// True if no probe was slower than on a quiet CPU.
    pub(crate) is_quiet: bool,
}

/// A process as the fit sees it.
pub(crate) struct SlicedProcess<'a> {
    pub(crate) index: usize,
    pub(crate) record: &'a Record,
    pub(crate) cpus: usize,
    /// Share of the session's probes that were near the quickest, on the CPU that has the fewest.
    pub(crate) near: f64,
    /// All slices, and those that count.
    pub(crate) every_look: Vec<Look>,
    pub(crate) looks: Vec<Look>,
    /// True if too few of them count.
    pub(crate) is_short: bool,
}

/// Round of a record.
pub fn round(record: &Record) -> Round {
    let (run, seed) = record.session();
    (run, seed, record.round)
}

/// A slope with what is known of its error.
pub(crate) struct Slope {
    pub(crate) value: f64,
    pub(crate) variance: f64,
    /// Its influence by round: what the slope owes to each.
    pub(crate) by_round: BTreeMap<Round, f64>,
    /// How much of the times it leaves unexplained: tells which cap is best.
    unexplained: f64,
}

/// The cap that leaves the least of the times of programs with so many CPUs unexplained.
pub(crate) fn cap(rows: &BTreeMap<Place, Vec<SlicedProcess<'_>>>, cpus: usize) -> f64 {
    let rows: Vec<Vec<&SlicedProcess<'_>>> = rows
        .values()
        .map(|row| row.iter().filter(|process| process.cpus == cpus).collect())
        .collect();
    let slownesses: Vec<f64> =
        rows.iter().flatten().flat_map(|process| &process.looks).map(|look| look.x).collect();
    let highest = stats::quantile(&slownesses, 0.99).unwrap_or(0.0);
    let unexplained = |cap: &f64| -> f64 {
        rows.iter().filter_map(|own| Slope::fit(own, *cap)).map(|fit| fit.unexplained).sum()
    };
    let tried = CAPS.iter().filter(|cap| **cap <= highest.max(CAPS[0]));
    let tried = tried.map(|cap| (unexplained(cap), *cap));
    tried.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(CAPS[0], |(_, cap)| cap)
}

impl Slope {
    /// Least squares of one row, inside its processes, without the farthest residuals; `None` if the speed did not change.
    fn fit(own: &[&SlicedProcess<'_>], cap: f64) -> Option<Self> {
        let mut points: Vec<(f64, f64, Round)> = Vec::new();
        for process in own {
            let xs: Vec<f64> = process.looks.iter().map(|look| look.x.min(cap)).collect();
            let n = xs.len() as f64;
            let mean_x = xs.iter().sum::<f64>() / n;
            let mean_y = process.looks.iter().map(|look| look.y).sum::<f64>() / n;
            let (centred, round) = (xs.iter().zip(&process.looks), round(process.record));
            points.extend(centred.map(|(x, look)| (x - mean_x, look.y - mean_y, round)));
        }
        let (mut value, mut squares) = (0.0, 0.0);
        let mut kept = points.clone();
        for _ in 0..4 {
            squares = kept.iter().map(|(x, ..)| x * x).sum();
            if squares < 1e-9 {
                return None;
            }
            value = kept.iter().map(|(x, y, _)| x * y).sum::<f64>() / squares;
            let rests: Vec<f64> = points.iter().map(|(x, y, _)| y - value * x).collect();
            let [low, high] = [TRIM, 1.0 - TRIM].map(|p| stats::quantile(&rests, p));
            let (low, high) = (low?, high?);
            let inside = |(_, rest): &(&(f64, f64, Round), &f64)| (low..=high).contains(*rest);
            kept = points.iter().zip(&rests).filter(inside).map(|(point, _)| *point).collect();
        }
        let n = kept.len() as f64;
        let rest: f64 = kept.iter().map(|(x, y, _)| (y - value * x).powi(2)).sum();
        let mut rounds: BTreeMap<Round, [f64; 2]> = BTreeMap::new();
        for (x, y, round) in &kept {
            let [share, leverage] = rounds.entry(*round).or_default();
            *share += x * (y - value * x) / squares;
            *leverage += x * x / squares;
        }
        // What the slope would be without the round: one that pulls hard hides its own error.
        let jackknife = |[share, leverage]: [f64; 2]| share / (1.0 - leverage.min(PULL));
        let by_round: BTreeMap<Round, f64> =
            rounds.into_iter().map(|(round, parts)| (round, jackknife(parts))).collect();
        let freedom = n - own.len() as f64 - 1.0;
        if freedom < FEWEST {
            return None;
        }
        // Slices of a round may err together.
        let together: f64 = by_round.values().map(|share| share * share).sum();
        let variance = (rest / freedom / squares / TRIMMED).max(together);
        let unexplained = n * rest.max(1e-12).ln();
        Some(Slope { value, variance, by_round, unexplained }.by_what_probes_tell(told(own)))
    }

    /// The slope on the slowness of the slices themselves, if the probes before and after them tell this share of it. Where
    /// they tell little, the factor between both is uncertain itself, by as much as slopes differ.
    fn by_what_probes_tell(self, share: f64) -> Self {
        let shrunk = shrunk(share);
        let unknown = SLOPES.1 * (1.0 - shrunk) / shrunk;
        Slope {
            value: self.value / shrunk,
            variance: self.variance / shrunk.powi(2) + unknown.powi(2),
            by_round: self.by_round.into_iter().map(|(round, own)| (round, own / shrunk)).collect(),
            ..self
        }
    }

    /// The part of its variance that no round shows.
    pub(crate) fn hidden(&self) -> f64 {
        let shown: f64 = self.by_round.values().map(|share| share * share).sum();
        (self.variance - shown).max(0.0)
    }
}

/// Share of the slowness of a row's slices that their probes tell: the covariance of before and after over the variance of
/// their mean, inside processes. 1 if the speed stays as it is for longer than a slice; 0 if it changes many times in each,
/// or not at all, and what the probes show is noise.
fn told(own: &[&SlicedProcess<'_>]) -> f64 {
    let squares = |of: fn(&Look) -> f64| -> f64 {
        let inside = own.iter().map(|process| {
            let values: Vec<f64> = process.looks.iter().map(of).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        });
        inside.sum()
    };
    // The covariance of m - a and m + a is the variance of m less that of a.
    (1.0 - squares(|look| look.apart) / squares(|look| look.x)).clamp(LEAST_TOLD, 1.0)
}

/// Factor by which least squares shrink a slope if probes tell this share of the slowness: that of a neighbour that comes
/// and goes at random. Its correlation over a slice is r = exp(-u), so that the share is 2r / (1 + r), and the covariance of
/// the slice's mean with the probes' mean, over the variance of the latter, is tanh(u/2) / (u/2).
fn shrunk(told: f64) -> f64 {
    let half = -(told / (2.0 - told)).ln() / 2.0;
    if half < 1e-6 { 1.0 } else { half.tanh() / half }
}

/// The slope of each row: drawn towards their mean as far as it is unsure.
pub(crate) fn slopes(
    rows: &BTreeMap<Place, Vec<SlicedProcess<'_>>>,
    caps: &BTreeMap<usize, f64>,
) -> Vec<Slope> {
    let (prior, spread) = SLOPES;
    let fit = |row: &Vec<SlicedProcess<'_>>| {
        Slope::fit(&row.iter().collect::<Vec<_>>(), caps[&row[0].cpus])
    };
    let fits: Vec<Option<Slope>> = rows.values().map(fit).collect();
    // The mean of all rows, and what it owes to each round.
    let weight = |fit: &Slope| 1.0 / (fit.variance + spread * spread);
    let own = || fits.iter().flatten();
    let weights = own().map(weight).sum::<f64>() + 1.0 / (spread * spread);
    let sum = own().map(|fit| weight(fit) * fit.value).sum::<f64>() + prior / (spread * spread);
    let mean = sum / weights;
    let mut mean_by_round: BTreeMap<Round, f64> = BTreeMap::new();
    for fit in own() {
        for (round, share) in &fit.by_round {
            *mean_by_round.entry(*round).or_default() += weight(fit) / weights * share;
        }
    }
    let slope = |fit: Option<Slope>| {
        let Some(fit) = fit else {
            let (variance, by_round) = (spread * spread + 1.0 / weights, mean_by_round.clone());
            return Slope { value: mean, variance, by_round, unexplained: 0.0 };
        };
        let drawn = fit.variance / (fit.variance + spread * spread);
        let value = drawn * mean + (1.0 - drawn) * fit.value;
        // The variance of a drawn value is (1 - drawn) times the fit's variance, plus the mean's.
        let own = (1.0 - drawn).sqrt();
        let share = |(round, share): (&Round, &f64)| {
            (*round, own * share + drawn * mean_by_round.get(round).unwrap_or(&0.0))
        };
        Slope {
            value: value.clamp(0.0, STEEPEST),
            variance: (1.0 - drawn) * fit.variance + drawn * drawn / weights,
            by_round: fit.by_round.iter().map(share).collect(),
            unexplained: fit.unexplained,
        }
    };
    fits.into_iter().map(slope).collect()
}
