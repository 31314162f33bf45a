//! The loop: a chain of async tasks on io_uring, and the driver that times it. The executor is what is measured, so it
//! is compiled for each.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::time::Instant;

use anyhow::{Result, ensure};
use chain::{
    ByteTokens, ChainBuilder, ChainFlags, ChainsFlags, Misbehaviour, StartGuard, StartLatch,
    TaskResults,
};
use contract::message::{Claim, Description, Needs};
use contract::{BadUsage, Flags, Pass, Run};

/// Flags of a brigade, whatever executor runs its tasks.
#[derive(Clone, Debug, clap::Args)]
pub struct BrigadeFlags {
    /// Flags of every program.
    #[command(flatten)]
    pub flags: Flags,
    /// Links and tokens.
    #[command(flatten)]
    pub chain: ChainFlags,
}

impl BrigadeFlags {
    /// Description of the brigade, with what its executor needs, and without its runtime.
    pub fn describe(&self, program: &str, executor: Needs) -> Result<Description> {
        if self.chain.idle > 0 {
            return Err(BadUsage::new("--idle: tasks on io_uring have none beside them: drop it"));
        }
        let needs = self.chain.needs(self.chain.token_size()) + executor;
        let chains = ChainsFlags::default();
        self.chain.describe(program, &self.flags, chains, Claim::UserSwitch, needs)
    }

    /// Room for a token, written, so that it is resident before anything is timed.
    fn token(&self) -> Token {
        vec![u8::MAX; self.chain.token_size()].into_boxed_slice()
    }
}

/// The memory of a token. An operation takes it and gives it back.
pub type Token = Box<[u8]>;

/// Runs tasks on one thread.
pub trait Executor {
    /// A task that was spawned. It may end if this is dropped.
    type Task<T>;
    /// End of a link.
    type End: End;

    /// End of a link with this blocking descriptor.
    fn end(&self, fd: OwnedFd) -> io::Result<Self::End>;

    /// Starts a task.
    fn spawn<T: 'static>(&self, task: impl Future<Output = T> + 'static) -> Self::Task<T>;

    /// Runs tasks that are ready.
    fn run_ready(&self);

    /// Runs tasks until this one has ended; one that panicked is an error.
    fn join<T: 'static>(&self, task: Self::Task<T>) -> Result<T>;
}

/// End of a link.
pub trait End: 'static {
    /// Fills a token, in several reads if it comes in parts. Returns the number of bytes, which is smaller at the end
    /// of file.
    fn read(&mut self, token: &mut Token) -> impl Future<Output = io::Result<usize>>;

    /// Writes a token, in several writes if it goes in parts.
    fn write(&mut self, token: &mut Token) -> impl Future<Output = io::Result<()>>;
}

type Tasks<E> = Vec<(u32, <E as Executor>::Task<Result<u64>>)>;

/// The end to read from, and the end to write to.
type Ends<D> = (Reader<D>, D);

/// The brigade.
pub fn brigade<E: Executor>(flags: &BrigadeFlags, executor: &E, run: &mut Run) -> Result<()> {
    let mut tasks = Tasks::<E>::new();
    let driven = build(flags, executor, &mut tasks).and_then(|mut ends| {
        while let Some(mut pass) = run.next_pass()? {
            let driver = executor.spawn(drive(flags.clone(), ends, pass));
            let result;
            (ends, pass, result) = executor.join(driver)?;
            run.finish(pass)?;
            result?;
        }
        Ok(())
    });
    // The driver's ends are closed now, and the end of file runs along the chain.
    let results = tasks.into_iter().map(|(place, task)| (place, executor.join(task).flatten()));
    results.collect::<TaskResults>().into_result(driven, run.sent())
}

/// Builds a chain, waits until each task runs, and returns the driver's ends.
fn build<E: Executor>(
    flags: &BrigadeFlags,
    executor: &E,
    tasks: &mut Tasks<E>,
) -> Result<Ends<E::End>> {
    let (count, chain) = (flags.flags.tasks, &flags.chain);
    let mut latch = StartLatch::new(count);
    let mut builder = ChainBuilder::new(count, chain.shuffle, || {
        let (reader, writer) = chain.transport.descriptors()?;
        Ok((executor.end(reader)?, executor.end(writer)?))
    })?;
    while let Some(station) = builder.next_station()? {
        let fault = chain.fault.of(station.place);
        let from =
            Reader { end: station.upstream, fault: fault.map(Misbehaviour::new).map(Box::new) };
        let task = pass_on(from, station.downstream, latch.guard(fault), flags.token());
        tasks.push((station.place, executor.spawn(task)));
    }
    while !latch.is_open()? {
        executor.run_ready();
    }
    let (last, first) = builder.driver_ends();
    Ok((Reader { end: last, fault: None }, first))
}

/// A task of the chain: takes a token, adds one to it, hands it on, until the end of file.
async fn pass_on<D: End>(
    mut from: Reader<D>,
    mut to: D,
    guard: StartGuard,
    mut token: Token,
) -> Result<u64> {
    guard.started()?;
    let mut passed = 0;
    while from.read(&mut token).await? {
        token[0] = token[0].wrapping_add(1);
        to.write(&mut token).await?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that. A token that is taken out has the
/// memory of the one that was sent.
async fn drive<D: End>(
    flags: BrigadeFlags,
    (mut last, mut first): Ends<D>,
    mut pass: Pass,
) -> (Ends<D>, Pass, Result<()>) {
    let result = async {
        let mut tokens = ByteTokens::new(&flags.chain, 1);
        let mut buffers = vec![flags.token(); flags.chain.tokens as usize];
        while let Some(iteration) = pass.next_iteration() {
            for (buffer, token) in buffers.iter_mut().zip(tokens.sent(iteration)) {
                buffer.copy_from_slice(token);
            }

            let clock = Instant::now();
            for buffer in &mut buffers {
                first.write(buffer).await?;
            }
            for buffer in &mut buffers {
                ensure!(last.read(buffer).await?, "the chain ended early");
            }
            pass.record(clock.elapsed());

            for (token, buffer) in tokens.received().zip(&buffers) {
                token.copy_from_slice(buffer);
            }
            tokens.verify(iteration, flags.flags.tasks)?;
        }
        Ok(())
    }
    .await;
    ((last, first), pass, result)
}

/// End that a task reads from, with the fault that a test asks for.
struct Reader<D> {
    end: D,
    fault: Option<Box<Misbehaviour>>,
}

impl<D: End> Reader<D> {
    /// Fills a token; `false` at the end of file.
    async fn read(&mut self, token: &mut Token) -> io::Result<bool> {
        if let Some(fault) = &mut self.fault {
            if fault.hangs() {
                return pending().await;
            }
            fault.before_read()?;
            if fault.closes() {
                return Ok(false);
            }
        }
        let count = self.end.read(token).await?;
        if 0 < count && count < token.len() {
            let why = "the link ended in the middle of a token";
            return Err(io::Error::new(ErrorKind::UnexpectedEof, why));
        }
        if let Some(fault) = &mut self.fault {
            fault.after_read(&mut token[..count]);
        }
        Ok(count > 0)
    }
}
