//! A cache line's round trip between two CPUs: no hand-over to another CPU and back is faster.

use std::hint;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use brigade::{allowed_cpus, restrict};
use contract::{BadUsage, Pass, limits};

/// Word that ends the answering thread. Questions are odd, answers even, and both are smaller.
const STOP: u32 = u32::MAX;

/// A word alone in its cache line, and in the neighbouring lines that a CPU fetches along with it.
#[repr(align(256))]
struct Line(AtomicU32);

/// Sends a line to the second CPU and back N times in each iteration, and times that.
pub(crate) fn bounce(n: usize, pass: &mut Pass) -> anyhow::Result<()> {
    let cpus = allowed_cpus()?;
    let &[here, there, ..] = &cpus[..] else {
        return Err(BadUsage::new(
            "--work cache-line needs two CPUs, but this process may use only one: allow more by taskset(1)",
        ));
    };
    let line = Line(AtomicU32::new(0));
    thread::scope(|scope| {
        // A new thread inherits the CPUs of its creator.
        restrict(&[there]).context("cannot pin a thread")?;
        let answerer = thread::Builder::new().spawn_scoped(scope, || answer(&line.0));
        let asked = match &answerer {
            Ok(_) => restrict(&[here]).map(|()| ask(&line.0, n, pass)),
            Err(_) => Ok(0),
        };
        line.0.store(STOP, Ordering::Release);
        restrict(&cpus).context("cannot release a thread from its CPU")?;
        let refused = || limits::refused("create a thread", "--tasks", 1);
        let answers = answerer.with_context(refused)?.join();
        let asked = asked.context("cannot pin a thread")?;
        let answers = answers.map_err(|_| anyhow!("a thread panicked"))?;
        ensure!(asked == answers, "{asked} questions had {answers} answers");
        Ok(())
    })
}

/// Asks N times in each iteration, and times that; returns how often it asked.
fn ask(line: &AtomicU32, n: usize, pass: &mut Pass) -> u64 {
    let (mut word, mut asked) = (0, 0);
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for _ in 0..n {
            line.store(word + 1, Ordering::Release);
            word = (word + 2) % (STOP - 1);
            while line.load(Ordering::Acquire) != word {
                hint::spin_loop();
            }
        }
        pass.record(clock.elapsed());
        asked += n as u64;
    }
    asked
}

/// Answers each odd word by the even one after it, and returns how many it answered.
fn answer(line: &AtomicU32) -> u64 {
    let mut answers = 0;
    loop {
        match line.load(Ordering::Acquire) {
            STOP => return answers,
            word if word % 2 == 1 => {
                line.store((word + 1) % (STOP - 1), Ordering::Release);
                answers += 1;
            }
            _ => hint::spin_loop(),
        }
    }
}
