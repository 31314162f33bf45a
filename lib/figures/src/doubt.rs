//! Doubts: reasons why figures are less certain, each with its sentence. Every view uses these words.

use std::fmt;

use serde::Serialize;

use super::basis::{grouped, unique};
use super::grade::Grade;
use super::number::percent;

/// From this share on, the difference between equal runs is a doubt.
pub(crate) const RESTLESS: f64 = 0.1;

/// Kinds of doubts, the loudest first. `Contradicted` and the kinds above it void their figures. Among the others, kinds with
/// words in `DoubtKind::noise` come first, by size; the rest are in this order. doubts.rs and conditions.rs say what each
/// kind means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtKind {
    /// Records of several machines, or of several settings of a machine, are pooled.
    OtherMachine,
    /// Records of several builds are pooled.
    OtherBuild,
    /// A debug build was measured.
    Unoptimised,
    ChangedSources,
    /// The counters contradict what the figure is called.
    Contradicted,
    /// A CPU quota stopped the programs.
    Throttled,
    Slowed,
    /// The CPUs were hardly ever near the quickest that they showed: full speed may be quicker still.
    NeverQuiet,
    /// The correction of the time has a large standard error.
    Uncertain,
    /// Corrected times still follow how slow the CPUs were.
    Follows,
    /// In most rounds, other work took CPU time in at least half of the slices.
    FewSlices,
    /// The last thirds of the turns took another time than the first.
    NotSteady,
    /// The machine was busy when the run began.
    Loaded,
    /// Other programs used the CPUs meanwhile.
    Busy,
    /// The host took CPU time meanwhile.
    Stolen,
    /// Two equal runs differed much.
    Unsteady,
    /// A yardstick took more or less time at the end than at the beginning.
    Drift,
    /// What was timed began right after a pause.
    AfterPause,
    /// A size lacks the kernel's share.
    NoKernelShare,
    /// An event could not be counted.
    NotCounted,
    /// The trials fall into two groups.
    TwoModes,
    /// There are too few rounds for an interval.
    FewRounds,
    /// Reading the clock is more than 1 % of a sample.
    ShortSamples,
    /// Part of the memory is in transparent huge pages.
    HugePages,
    /// A program left processes running.
    LeftBehind,
    /// Several chains ran on more CPUs than were validated.
    Unvalidated,
    /// A file in /proc cannot be read.
    Unreadable,
    /// Records were given several times.
    Repeated,
}

impl DoubtKind {
    /// Grade of a figure with this doubt.
    pub(crate) fn grade(self) -> Grade {
        use DoubtKind::*;
        match self {
            Contradicted => Grade::Contradicted,
            Throttled | Slowed | NeverQuiet | Uncertain | Follows | FewSlices | NotSteady
            | HugePages => Grade::Disturbed,
            _ => Grade::Sure,
        }
    }

    /// Its words about noise, with `{}` for its size; `None` if it is about something else.
    fn noise(self) -> Option<&'static str> {
        match self {
            DoubtKind::Throttled => Some("a CPU quota stopped the programs"),
            DoubtKind::Loaded => Some("busy at the start"),
            DoubtKind::Slowed => Some("CPUs slower by {}"),
            DoubtKind::NeverQuiet => Some("CPUs at full speed for less than {} of the time"),
            DoubtKind::Uncertain => Some("times uncertain by {}"),
            DoubtKind::Follows => Some("times off by up to {}, as the CPUs were slow"),
            DoubtKind::FewSlices => Some("other work in {} of the rounds"),
            DoubtKind::NotSteady => Some("times changed by {} within a turn"),
            DoubtKind::Busy => Some("other programs used {} of the CPU time"),
            DoubtKind::Stolen => Some("the host took {} of the CPU time"),
            DoubtKind::Unsteady => Some("equal runs {} apart"),
            DoubtKind::Drift => Some("a yardstick moved by {}"),
            _ => None,
        }
    }
}

impl Grade {
    pub(crate) fn of(doubts: &[Doubt]) -> Self {
        doubts.iter().map(|doubt| doubt.kind.grade()).max().unwrap_or_default()
    }
}

/// A reason why figures are less certain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Doubt {
    /// What it is about.
    pub kind: DoubtKind,
    /// How bad it is, compared with others of its kind: of noise a share, of a quota ns.
    pub(crate) size: f64,
    pub(crate) text: String,
    /// What distinguishes it from others of its kind, such as a file.
    #[serde(skip)]
    pub(crate) subject: String,
    /// Names of the figures that it is about; none if it is about all.
    pub(crate) about: Vec<String>,
}

/// Most names that are printed beside a doubt.
const NAMED: usize = 3;

impl Doubt {
    /// A doubt about all figures.
    pub(crate) fn new(kind: DoubtKind, size: f64, text: impl Into<String>) -> Self {
        Doubt { kind, size, text: text.into(), subject: String::new(), about: Vec::new() }
    }

    /// A doubt about a share, which stands for `{}` in its sentence; `None` unless it is above `most`.
    pub(crate) fn above(limit: f64, kind: DoubtKind, share: f64, text: &str) -> Option<Self> {
        (share > limit).then(|| Doubt::new(kind, share, text.replace("{}", &percent(share))))
    }

    /// One of several of its kind.
    pub(crate) fn on(kind: DoubtKind, subject: &str, size: f64, text: impl Into<String>) -> Self {
        Doubt { subject: subject.to_owned(), ..Doubt::new(kind, size, text) }
    }

    /// True if the figures are not what their names say: they come from other sources, programs or machines.
    pub fn voids(&self) -> bool {
        self.kind <= DoubtKind::Contradicted
    }

    /// Its size and words about noise; `None` if it is about something else. A quota is a known cause of all noise, and so
    /// the loudest.
    pub(crate) fn noise(&self) -> Option<(f64, String)> {
        let size = if self.kind == DoubtKind::Throttled { f64::INFINITY } else { self.size };
        Some((size, self.kind.noise()?.replace("{}", &percent(self.size))))
    }

    /// Where it stands among others: by its tier, then the loudest first.
    fn rank(&self) -> (u8, f64) {
        match self.noise() {
            _ if self.voids() => (0, 0.0),
            Some((size, _)) => (1, -size),
            None => (2, 0.0),
        }
    }

    /// The worse of two, with the names of both.
    fn joined(self, other: Doubt) -> Doubt {
        let is_about_all = self.about.is_empty() || other.about.is_empty();
        let names = self.about.iter().chain(&other.about).filter(|_| !is_about_all);
        let about = unique(names.cloned());
        Doubt { about, ..if other.size > self.size { other } else { self } }
    }

    /// Its sentence, with at most `most` names of figures.
    pub fn with_names(&self, count: usize) -> String {
        let (named, others) = self.about.split_at(self.about.len().min(count));
        match others.len() {
            0 if named.is_empty() => self.text.clone(),
            0 => format!("{} ({})", self.text, named.join("; ")),
            more => format!("{} ({}; {more} more)", self.text, named.join("; ")),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_names(NAMED))
    }
}

/// The worst doubt of each kind, with all names, the loudest first; doubts about noise are sorted by size.
pub fn merged(doubts: impl IntoIterator<Item = Doubt>) -> Vec<Doubt> {
    let of_kinds =
        grouped(doubts.into_iter().map(|doubt| ((doubt.kind, doubt.subject.clone()), doubt)));
    let worst =
        of_kinds.into_iter().filter_map(|(_, doubts)| doubts.into_iter().reduce(Doubt::joined));
    let mut merged: Vec<Doubt> = worst.collect();
    merged.sort_by(|a, b| {
        let ((tier, size), (other_tier, other_size)) = (a.rank(), b.rank());
        let order = tier.cmp(&other_tier).then(size.total_cmp(&other_size));
        order.then(a.kind.cmp(&b.kind)).then_with(|| a.subject.cmp(&b.subject))
    });
    merged
}

/// Doubts that so many share, of each kind the median one; one contradiction is enough.
pub(crate) fn shared(doubts: impl Iterator<Item = Doubt>, least: usize) -> Vec<Doubt> {
    let of_kinds = grouped(doubts.map(|doubt| (doubt.kind, doubt))).into_iter().filter_map(
        |(kind, mut doubts)| {
            let counts = kind.grade() == Grade::Contradicted || doubts.len() >= least;
            doubts.sort_by(|a, b| a.size.total_cmp(&b.size));
            counts.then(|| doubts.swap_remove(doubts.len() / 2))
        },
    );
    of_kinds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their places in the list say so, too.
    #[test]
    fn noise_has_words() {
        use DoubtKind::*;
        let noise =
            [Throttled, Slowed, Uncertain, FewSlices, Loaded, Busy, Stolen, Unsteady, Drift];
        assert!(noise.iter().all(|kind| kind.noise().is_some()));
    }

    #[test]
    fn the_loudest_doubt_is_the_largest() {
        let of = |kind, size: f64| Doubt::new(kind, size, size.to_string());
        let named = |size, name: &str| Doubt {
            about: vec![name.to_owned()],
            ..Doubt::on(DoubtKind::Drift, "I/O", size, size.to_string())
        };
        let all = [of(DoubtKind::TwoModes, 0.0), of(DoubtKind::Busy, 0.72), named(0.2, "a")];
        let more = [named(4.1, "b"), named(3.0, "a"), of(DoubtKind::Unoptimised, 0.0)];
        let texts: Vec<String> =
            merged(all.into_iter().chain(more)).iter().map(Doubt::to_string).collect();
        assert_eq!(texts, ["0", "4.1 (a; b)", "0.72", "0"]);
        // A doubt about all figures names none.
        let all = Doubt { about: Vec::new(), ..named(0.1, "") };
        assert_eq!(merged([named(0.2, "a"), all])[0].to_string(), "0.2");
        // Two files are two doubts.
        let unreadable = |file: &str| Doubt::on(DoubtKind::Unreadable, file, 0.0, file);
        assert_eq!(merged(["a", "b", "a"].map(unreadable)).len(), 2);
    }
}
