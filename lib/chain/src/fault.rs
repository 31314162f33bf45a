//! Faults that a test asks for. They sit in a link or in the start latch, so that no program has a
//! second loop for them.

use std::fmt;
use std::hint;
use std::io;
use std::str::FromStr;
use std::time::{Duration, Instant};

use contract::BadUsage;

/// Reads that a faulty link serves first, so that there are samples to be kept.
const READS_BEFORE: u64 = 3;

/// Hidden flags for tests.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct FaultFlags {
    /// Fault of task K, counted from 0
    #[arg(long, value_name = "FAULT@K", hide = true)]
    pub test_fault: Option<FaultOf>,

    /// Delay of each hop, in ns: a runner must find it again
    #[arg(long, value_name = "NS", hide = true)]
    pub test_delay: Option<u64>,
}

/// Fault of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultOf {
    fault: Fault,
    task: u32,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A read fails.
    Fail,
    /// A read panics.
    Panic,
    /// A read finds the end of file.
    Close,
    /// The task ends before it has started.
    Absent,
    /// A read never returns.
    Hang,
    /// The last byte read is inverted.
    Corrupt,
    /// Each read takes longer.
    Delay(Duration),
}

const NAMES: [(&str, Fault); 6] = [
    ("fail", Fault::Fail),
    ("panic", Fault::Panic),
    ("close", Fault::Close),
    ("absent", Fault::Absent),
    ("hang", Fault::Hang),
    ("corrupt", Fault::Corrupt),
];

impl FaultFlags {
    /// Checks that the chain has such a task.
    ///
    /// # Errors
    /// A [`BadUsage`] error that names the last one.
    pub fn check(&self, tasks: u32) -> anyhow::Result<()> {
        match self.test_fault {
            Some(of) if of.task >= tasks => {
                Err(BadUsage::new(format!("--test-fault {of}: the last task is {}", tasks - 1)))
            }
            _ => Ok(()),
        }
    }

    /// Whether no task has a fault.
    pub fn is_none(&self) -> bool {
        self.test_fault.is_none() && self.test_delay.is_none()
    }

    /// Fault of task `k`, if it has one.
    pub fn of(&self, k: u32) -> Option<Fault> {
        let own = self.test_fault.filter(|of| of.task == k).map(|of| of.fault);
        own.or(self.test_delay.map(Duration::from_nanos).map(Fault::Delay))
    }
}

/// A fault under way, in a link of any kind.
#[derive(Clone, Copy, Debug)]
pub struct Misbehaviour {
    fault: Fault,
    reads: u64,
}

impl Misbehaviour {
    /// A fault that has not shown yet.
    pub fn new(fault: Fault) -> Self {
        Misbehaviour { fault, reads: 0 }
    }

    fn shows(&self) -> bool {
        self.reads >= READS_BEFORE
    }

    /// Whether the next read never returns.
    pub fn hangs(&self) -> bool {
        self.fault == Fault::Hang && self.shows()
    }

    /// Whether the next read finds the end of file.
    pub fn closes(&self) -> bool {
        self.fault == Fault::Close && self.shows()
    }

    /// Called before each read.
    ///
    /// # Errors
    /// Where that is the fault.
    ///
    /// # Panics
    /// Where that is the fault.
    pub fn before_read(&mut self) -> io::Result<()> {
        match self.fault {
            Fault::Fail if self.shows() => Err(io::Error::other("fails as --test-fault asks")),
            Fault::Panic if self.shows() => panic!("ends as --test-fault asks"),
            _ => Ok(()),
        }
    }

    /// Called after each read with what came.
    pub fn after_read(&mut self, bytes: &mut [u8]) {
        if let Fault::Delay(delay) = self.fault {
            let begun = Instant::now();
            while begun.elapsed() < delay {
                hint::spin_loop();
            }
        }
        if self.fault == Fault::Corrupt
            && self.shows()
            && let Some(byte) = bytes.last_mut()
        {
            *byte = !*byte;
        }
        self.reads += 1;
    }
}

impl FromStr for FaultOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, task) = text.split_once('@').unwrap_or((text, ""));
        let fault = NAMES.iter().find(|(known, _)| *known == name);
        match (fault, task.parse()) {
            (Some(&(_, fault)), Ok(task)) => Ok(FaultOf { fault, task }),
            _ => Err("write fail, panic, close, absent, hang or corrupt, @ and a task".to_owned()),
        }
    }
}

impl fmt::Display for FaultOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, fault)| *fault == self.fault);
        write!(f, "{}@{}", name.map_or("", |(name, _)| name), self.task)
    }
}
