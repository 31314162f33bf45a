//! A session: what the runner asks of a live program of docs/CONTRACT.md, and what it answers. Between
//! requests the program waits and uses no CPU, so that many can be alive at once.

use std::io;
use std::time::{Duration, Instant};

use contract::message::{Answer, Description, Extra, Request, Usage, VERSION};

use super::process_group::{Ended, ProcessGroup, TimeLimit};
use crate::plan::setting::Setting;
use crate::system::executable::Executable;
use crate::system::signals;

/// Time by which no sample is longer than its answer took: clocks differ, but not so much.
const IMPOSSIBLE: Duration = Duration::from_secs(1);

/// A program that follows the contract, and is alive.
#[derive(Debug)]
pub struct Session(ProcessGroup);

/// Why a session has no answer.
#[derive(Debug)]
pub enum Fault {
    /// The program ended; the cause is in how it did.
    Ended,
    /// It says so, or it does not follow the contract.
    Told(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Told(error.to_string())
    }
}

/// First answer of a program.
#[derive(Debug)]
pub struct Ready {
    /// The program and its children.
    pub pids: Vec<i32>,
    /// From the start of building until all tasks ran, in ns.
    pub setup_ns: Option<u64>,
    /// Its very first iteration, in ns.
    pub first_ns: Option<u64>,
    /// Description of its command line.
    pub description: Description,
}

/// Answer to a request for iterations.
#[derive(Debug)]
pub struct Ran {
    /// Timed iterations in order, in ns.
    pub samples: Vec<u64>,
    /// Usage of the process meanwhile, if it counts its own.
    pub usage: Option<Usage>,
    /// Other distributions that it measured.
    pub extra: Extra,
}

impl Session {
    /// Starts a program. It is ended if it takes longer than `limit` to answer.
    ///
    /// # Errors
    /// When it cannot be started; names the setting that was refused.
    pub fn start(
        program: &Executable,
        args: &[String],
        setting: &Setting,
        limit: TimeLimit,
    ) -> anyhow::Result<Self> {
        ProcessGroup::start(program, args, setting, limit).map(Session)
    }

    /// Takes the first answer, and makes sure that the program follows the contract as this runner does.
    ///
    /// # Errors
    /// Says what it is or does instead.
    pub fn ready(&mut self) -> Result<Ready, Fault> {
        match self.answer()? {
            Answer::Ready { pids, setup_ns, first_ns, description } => match description.contract {
                VERSION => Ok(Ready { pids, setup_ns, first_ns, description }),
                other => Err(Fault::Told(format!(
                    "it follows version {other} of the contract, and this runner version {VERSION}"
                ))),
            },
            other => Err(self.unexpected("ready", &other)),
        }
    }

    /// Has it iterate; fewer times if it was asked to end.
    ///
    /// # Errors
    /// Says what it does instead.
    pub fn run(&mut self, iterations: u64, pass: Option<&String>) -> Result<Ran, Fault> {
        let begun = Instant::now();
        match self.ask(&Request::Run(iterations, pass.cloned()))? {
            Answer::Ran { samples_ns, .. } if samples_ns.len() as u64 > iterations => {
                Err(Fault::Told(format!(
                    "it answered `run {iterations}` with {} samples",
                    samples_ns.len()
                )))
            }
            Answer::Ran { samples_ns, usage, extra } => {
                let longest = samples_ns.iter().max().copied().unwrap_or(0);
                let took = begun.elapsed();
                if Duration::from_nanos(longest) > took + IMPOSSIBLE {
                    return Err(Fault::Told(format!(
                        "what it says cannot be true: it answered `run {iterations}` within {took:.0?} with a sample \
                         of {longest} ns"
                    )));
                }
                Ok(Ran { samples: samples_ns, usage, extra })
            }
            other => Err(self.unexpected("ran", &other)),
        }
    }

    /// Has it rest with all tasks alive; its processes.
    ///
    /// # Errors
    /// Says what it does instead.
    pub fn hold(&mut self) -> Result<Vec<i32>, Fault> {
        match self.ask(&Request::Hold)? {
            Answer::Held { pids } => Ok(pids),
            other => Err(self.unexpected("held", &other)),
        }
    }

    /// Has it take its tasks down and verify their work: time of teardown in ns, and what else it measured.
    ///
    /// # Errors
    /// Says what it does instead.
    pub fn take_down(&mut self) -> Result<(Option<u64>, Extra), Fault> {
        match self.ask(&Request::End)? {
            Answer::Ended { teardown_ns, extra } => Ok((teardown_ns, extra)),
            other => Err(self.unexpected("ended", &other)),
        }
    }

    /// Next answer.
    fn answer(&mut self) -> Result<Answer, Fault> {
        let line = self.0.line()?.ok_or(Fault::Ended)?;
        match serde_json::from_slice(&line) {
            Ok(Answer::Failed { error }) => Err(Fault::Told(error)),
            Ok(answer) => Ok(answer),
            Err(e) => {
                let line = String::from_utf8_lossy(&line);
                let start: String = line.chars().take(80).collect();
                Err(Fault::Told(format!("its answer is none of docs/CONTRACT.md ({e}): {start}")))
            }
        }
    }

    /// Sends a request and takes the answer to it.
    fn ask(&mut self, request: &Request) -> Result<Answer, Fault> {
        self.0.send(&request.to_string())?;
        self.answer()
    }

    /// Closes its standard input, waits for its end, and ends whatever it has left behind. After a fault that
    /// it told, it has but a while.
    ///
    /// # Errors
    /// Errors of the system.
    pub(crate) fn end(mut self, fault: Option<&Fault>) -> io::Result<Ended> {
        if let Some(Fault::Told(_)) = fault {
            self.0.give_up();
        }
        self.0.end()
    }

    /// What is wrong with an answer in the place of another.
    fn unexpected(&self, wanted: &str, found: &Answer) -> Fault {
        let found = match found {
            Answer::Ready { .. } => "ready",
            Answer::Ran { .. } => "ran",
            Answer::Held { .. } => "held",
            Answer::Ended { .. } => "ended",
            Answer::Failed { .. } => "failed",
        };
        // A program that is interrupted or late ends without being asked to.
        let is_stopped = signals::received().is_some() || self.0.is_overdue();
        match found {
            "ended" if is_stopped => Fault::Ended,
            _ => Fault::Told(format!("it answered '{found}' where '{wanted}' was due")),
        }
    }
}
