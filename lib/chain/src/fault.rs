//! Faults that a test asks for. They sit in a link or in the start latch, so that no program has a
//! second loop for them.

use std::io;
use std::str::FromStr;
use std::thread;

use clap::ValueEnum;
use contract::BadUsage;

/// Reads that a faulty link serves first, so that there are samples to be kept.
const READS_BEFORE: u64 = 3;

/// Hidden flag for tests.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct FaultFlags {
    /// Fault of task K, counted from 0 over all chains
    #[arg(long, value_name = "FAULT@K", hide = true)]
    pub test_fault: Option<TaskFault>,
}

/// Fault of one task.
#[derive(Clone, Copy, Debug)]
pub struct TaskFault {
    fault: Fault,
    task: u32,
}

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
}

impl FaultFlags {
    /// Checks that so many chains of so many tasks have such a task.
    pub fn check(&self, tasks: u32, chains: u32) -> anyhow::Result<()> {
        let all = u64::from(tasks) * u64::from(chains);
        match self.test_fault {
            Some(TaskFault { task, .. }) if u64::from(task) >= all => Err(BadUsage::new(format!(
                "--test-fault: there is no task {task}: the last one is {}",
                all - 1
            ))),
            _ => Ok(()),
        }
    }

    /// True if no task has a fault.
    pub fn is_none(&self) -> bool {
        self.test_fault.is_none()
    }

    /// Fault of the task in a place of a chain, if it has one; a chain has so many tasks.
    pub fn of(&self, (chain, tasks): (u32, u32), place: u32) -> Option<Fault> {
        let task = u64::from(chain) * u64::from(tasks) + u64::from(place);
        self.test_fault.filter(|of| u64::from(of.task) == task).map(|of| of.fault)
    }
}

impl FromStr for TaskFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (fault, task) = text.split_once('@').unwrap_or((text, ""));
        match (Fault::from_str(fault, false), task.parse()) {
            (Ok(fault), Ok(task)) => Ok(TaskFault { fault, task }),
            _ => Err("write fail, panic, close, absent, hang or corrupt, @ and a task".to_owned()),
        }
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

    fn is_due(&self, fault: Fault) -> bool {
        self.fault == fault && self.reads >= READS_BEFORE
    }

    /// True if the next read never returns.
    pub fn hangs(&self) -> bool {
        self.is_due(Fault::Hang)
    }

    /// True if the next read finds the end of file.
    pub fn closes(&self) -> bool {
        self.is_due(Fault::Close)
    }

    /// Called before each read: fails or panics if that is the fault.
    pub fn before_read(&mut self) -> io::Result<()> {
        assert!(!self.is_due(Fault::Panic), "ends as --test-fault asks");
        if self.is_due(Fault::Fail) {
            return Err(io::Error::other("fails as --test-fault asks"));
        }
        Ok(())
    }

    /// Called after each read with what came.
    pub fn after_read(&mut self, bytes: &mut [u8]) {
        if self.is_due(Fault::Corrupt)
            && let Some(byte) = bytes.last_mut()
        {
            *byte = !*byte;
        }
        self.reads += 1;
    }

    /// Does a blocking read with the fault in it.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        while self.hangs() {
            thread::park();
        }
        self.before_read()?;
        if self.closes() {
            return Ok(0);
        }
        let count = read(buffer)?;
        self.after_read(&mut buffer[..count]);
        Ok(count)
    }
}
