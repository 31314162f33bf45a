//! The blocking loop with a known delay in each hop. No figure of it is of any use but one: the
//! runner must find the delay again. Its hidden flag is in the record, so that nobody takes such a
//! run for a real one.

use std::hint;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use harness::laps::Laps;
use harness::payload::{Intake, Pattern};
use harness::touch::Work;

use crate::{Brigade, Cli};

/// What `drive` does, and before each write a wait that keeps the CPU.
pub(crate) fn drive<T: Work, I: Intake, R: Read, W: Write>(
    cli: &Cli,
    chain: &mut Brigade<T, I, R, W>,
    laps: &mut Laps,
    delay: Duration,
) -> anyhow::Result<()> {
    let pattern = Pattern::new(cli.payload);
    let mut received = pattern.room_for(cli.chain.tokens);
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            wait(delay);
            let token = pattern.token(start.wrapping_add(k as u8));
            chain.first.write_all(token)?;
        }
        for station in &mut chain.stations {
            for _ in 0..cli.chain.tokens {
                let room = station.intake.room();
                let read = room.len();
                station.upstream.read_exact(room)?;
                for token in station.intake.whole(read) {
                    token[0] = token[0].wrapping_add(1);
                    station.work.work();
                    wait(delay);
                    station.downstream.write_all(token)?;
                }
            }
        }
        for token in pattern.tokens(&mut received) {
            chain.last.read_exact(token)?;
        }
        laps.record(clock.elapsed());

        pattern.verify(&received, start, cli.run.tasks)?;
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
