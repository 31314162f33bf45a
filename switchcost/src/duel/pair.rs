//! Two fresh processes that take turns. The one whose turn it is not waits for its standard input, so
//! that never both run.

use std::time::{Duration, Instant};

use contract::message::{Answer, Extra, MOST_SAMPLES, Request, Usage};

use super::MIN_TWINS;
use super::judge::{MIN_PAIRS, Pair, Quad, Times, log_ratio};
use crate::executable::Executable;
use crate::execute::{self, Fault};
use crate::plan::Case;
use crate::process::Running;
use crate::setting::Cpus;
use crate::signals;

/// Length of a slice that is aimed at: shorter ones are noise, and in longer ones the machine changes.
const SLICE: Duration = Duration::from_millis(10);

/// Fewest iterations of a slice.
const MIN_ITERATIONS: u64 = 8;

/// Most quads of a pair: more pairs are worth more than more quads.
const MOST_QUADS: u32 = 8;

/// How the slices of a row are cut, known from its first pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Iterations of a slice.
    iterations: u64,
    /// Quads of a pair.
    quads: u32,
}

/// End of a pair before its time.
pub(super) enum Stop {
    /// A signal asked for it.
    Interrupted,
    /// A process failed.
    Failed(String),
    /// All pairs that a verdict takes would last so long.
    TooLong(Duration),
}

/// What pairs are made of.
pub(super) struct Turns<'a> {
    pub(super) case: &'a Case,
    /// The sides' programs with their names; both the first's for a twin.
    pub(super) sides: [(&'a str, &'a Executable); 2],
    pub(super) timeout: Duration,
    /// Longest time for all pairs that a verdict takes, and the time that they should take.
    pub(super) budget: Duration,
    pub(super) share: Duration,
}

/// One process.
struct Live<'a> {
    side: &'a str,
    running: Running,
    used: Option<Usage>,
    iterations: u64,
    /// Most untimed iterations of a slice.
    settle: u64,
    /// Median iteration of each slice, in ns.
    slices: Vec<f64>,
}

impl Turns<'_> {
    /// Measures a pair. The first one finds the pace of all.
    pub(super) fn measure(
        &self,
        pace: &mut Option<Pace>,
        rng: &mut fastrand::Rng,
    ) -> Result<Pair, Stop> {
        let begun = Instant::now();
        // Who starts first may get the better memory.
        let is_first = rng.bool();
        let earlier = self.start(usize::from(!is_first))?;
        let later = self.start(usize::from(is_first))?;
        let (mut first, mut second) = if is_first { (earlier, later) } else { (later, earlier) };
        let pace = match *pace {
            Some(pace) => pace,
            None => *pace.insert(self.pace(&mut first, &mut second, begun.elapsed())?),
        };
        let mut quads = Vec::new();
        for _ in 0..pace.quads {
            let mut quad = Quad { first: [0.0; 2], second: [0.0; 2] };
            // A B B A, or the other way round: what drifts steadily hits both alike.
            let is_first = rng.bool();
            for (slice, turn) in [(0, is_first), (0, !is_first), (1, !is_first), (1, is_first)] {
                let (live, times) = match turn {
                    true => (&mut first, &mut quad.first),
                    false => (&mut second, &mut quad.second),
                };
                times[slice] = live.slice(pace.iterations)?;
            }
            quads.push(quad);
        }
        let pair = pair(&first, &second, &quads);
        first.end()?;
        second.end()?;
        pair.ok_or_else(|| Stop::Failed("an iteration took no time".to_owned()))
    }

    fn start(&self, side: usize) -> Result<Live<'_>, Stop> {
        let (side, program) = self.sides[side];
        let mut setting = self.case.setting.clone();
        if self.case.pin {
            let allowed = Cpus::allowed().map_err(|e| Stop::Failed(format!("{side}: {e}")))?;
            setting.cpus = Some(allowed.first());
        }
        let mut args = self.case.args();
        args.push("--controlled".to_owned());
        let running = Running::start(program, &args, &setting, self.timeout)
            .map_err(|e| Stop::Failed(format!("{side}: {e:#}")))?;
        let mut live =
            Live { side, running, used: None, iterations: 0, settle: 0, slices: Vec::new() };
        live.forget();
        let ready = execute::answer(&mut live.running).and_then(|answer| match answer {
            Answer::Ready { description, .. } => {
                execute::check_version(&description)?;
                Ok(description.passes.first().map_or(0, |pass| pass.settle))
            }
            other => Err(execute::unexpected("ready", &other)),
        });
        live.settle = live.checked(ready)?;
        Ok(live)
    }

    /// Finds the pace by a few iterations that are not kept.
    fn pace<'a>(
        &self,
        first: &mut Live<'a>,
        second: &mut Live<'a>,
        start: Duration,
    ) -> Result<Pace, Stop> {
        let mut longest = Duration::ZERO;
        for iterations in [1, MIN_ITERATIONS] {
            longest = Duration::ZERO;
            for live in [&mut *first, &mut *second] {
                longest = longest.max(live.whole_iteration(iterations)?);
                live.forget();
            }
            let pairs = (MIN_PAIRS + MIN_TWINS) as u32;
            let all = longest.saturating_mul(4 * MIN_ITERATIONS as u32 * pairs);
            if all > self.budget {
                return Err(Stop::TooLong(all));
            }
        }
        let ns = longest.as_nanos().max(1) as u64;
        let iterations = (SLICE.as_nanos() as u64 / ns).clamp(MIN_ITERATIONS, MOST_SAMPLES);
        // As much time for the slices as for starting, so that neither decides how many pairs there are;
        // less where there would be too few pairs.
        let quad = longest.as_secs_f64() * 4.0 * iterations as f64;
        let each = self.share.as_secs_f64() / (MIN_PAIRS + MIN_TWINS) as f64;
        let time = start.as_secs_f64().min(each - start.as_secs_f64());
        let quads = (time / quad.max(1e-9)) as u32;
        Ok(Pace { iterations, quads: quads.clamp(1, MOST_QUADS) })
    }
}

impl Live<'_> {
    /// Median iteration of a slice, in ns.
    fn slice(&mut self, iterations: u64) -> Result<f64, Stop> {
        let slice = execute::ran(&mut self.running, iterations, None, &mut Extra::new());
        let (samples, used) = self.checked(slice)?;
        if (samples.len() as u64) < iterations {
            // It was asked to end.
            self.checked(Err(Fault::Ended))?;
        }
        let times: Vec<f64> = samples.iter().map(|&ns| ns as f64).collect();
        let median = stats::median(&times).unwrap_or_default();
        self.used = self.used.zip(used).map(|(all, more)| execute::sum(all, more));
        self.iterations += iterations;
        self.slices.push(median);
        Ok(median)
    }

    /// Time of an iteration, by a slice of so many, with what is not timed: joins, or a wait.
    fn whole_iteration(&mut self, iterations: u64) -> Result<Duration, Stop> {
        let begun = Instant::now();
        let timed = Duration::from_nanos(self.slice(iterations)? as u64);
        let all = iterations.saturating_add(self.settle).try_into().unwrap_or(u32::MAX);
        Ok(timed.max(begun.elapsed() / all))
    }

    /// Forgets the slices so far.
    fn forget(&mut self) {
        (self.used, self.iterations) = (Some(Usage::default()), 0);
        self.slices.clear();
    }

    /// Has it verify its work and end.
    fn end(mut self) -> Result<(), Stop> {
        let sent = self.running.send(&Request::End.to_string()).map_err(Fault::from);
        let ended = sent.and_then(|()| match execute::answer(&mut self.running)? {
            Answer::Ended { .. } => Ok(()),
            other => Err(execute::unexpected("ended", &other)),
        });
        self.checked(ended)?;
        match self.running.end() {
            Ok(ended) if ended.status.success() => Ok(()),
            Ok(ended) => Err(Stop::Failed(format!("{}: {}", self.side, ended.reason()))),
            Err(e) => Err(Stop::Failed(format!("{}: {e}", self.side))),
        }
    }

    /// Takes an outcome, or the reason why there is none. The process is ended when it is dropped.
    fn checked<T>(&mut self, outcome: Result<T, Fault>) -> Result<T, Stop> {
        let reason = match outcome {
            _ if signals::received().is_some() => return Err(Stop::Interrupted),
            Ok(value) => return Ok(value),
            Err(Fault::Told(error)) => error,
            Err(Fault::Ended) => match self.running.end() {
                Ok(ended) => ended.reason(),
                Err(e) => e.to_string(),
            },
        };
        Err(Stop::Failed(format!("{}: {reason}", self.side)))
    }
}

fn pair(first: &Live<'_>, second: &Live<'_>, quads: &[Quad]) -> Option<Pair> {
    let counts = |count: fn(&Usage) -> u64| {
        let each =
            |live: &Live<'_>| Some(count(live.used.as_ref()?) as f64 / live.iterations as f64);
        Some([each(first)?, each(second)?])
    };
    Some(Pair {
        time: Some(Times {
            medians: [stats::median(&first.slices)?, stats::median(&second.slices)?],
            log_ratio: log_ratio(quads)?,
        }),
        switches: counts(|used| used.voluntary_switches),
        faults: counts(|used| used.minor_faults),
        ..Pair::default()
    })
}
