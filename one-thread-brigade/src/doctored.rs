//! The blocking loop with a known delay in each hop. No figure of it is of any use but one: the
//! runner must find the delay again. Its hidden flag is in the record, so that nobody takes such a
//! run for a real one.

use std::hint;
use std::io::{Read, Write};
use std::slice;
use std::time::{Duration, Instant};

use harness::laps::Laps;
use harness::links;
use harness::touch::Work;

use crate::{Brigade, Cli};

/// What `drive` does, and before each write a wait that keeps the CPU.
pub(crate) fn drive<T: Work, R: Read, W: Write>(
    cli: &Cli,
    chain: &mut Brigade<T, R, W>,
    laps: &mut Laps,
    delay: Duration,
) -> anyhow::Result<()> {
    let mut tokens = vec![0u8; cli.chain.tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            wait(delay);
            chain.first.write_all(&[start.wrapping_add(k as u8)])?;
        }
        for station in &mut chain.stations {
            for _ in 0..cli.chain.tokens {
                let mut byte = 0;
                station.upstream.read_exact(slice::from_mut(&mut byte))?;
                station.work.work();
                wait(delay);
                station.downstream.write_all(&[byte.wrapping_add(1)])?;
            }
        }
        for token in &mut tokens {
            chain.last.read_exact(slice::from_mut(token))?;
        }
        laps.record(clock.elapsed());

        links::verify(&tokens, start, cli.run.tasks)?;
    }
    Ok(())
}

/// Lasts `delay`, and up to one reading of the clock more.
fn wait(delay: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < delay {
        hint::spin_loop();
    }
}
