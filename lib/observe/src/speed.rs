//! Speed of a CPU at this moment.
//!
//! On a virtual machine the neighbour on the other hyperthread takes execution units and no time: nothing is
//! stolen, and yet everything takes up to twice as long. A short loop of independent additions, which needs all
//! units, shows it, and a changed clock frequency too.

#![allow(unsafe_code, reason = "the loop is written in assembly: no compiler may change its mix")]

use std::time::Instant;

/// Rounds of the loop, eight additions each: some 10 µs.
const ROUNDS: u64 = 10_000;

/// Number of loops. The quickest one counts, so that an interrupt does no harm.
const LOOPS: usize = 3;

/// Time of the probe on the calling thread's CPU, in ns; some 30 µs pass.
pub fn probe() -> u32 {
    let times = (0..LOOPS).map(|_| {
        let begun = Instant::now();
        additions(ROUNDS);
        begun.elapsed().as_nanos()
    });
    times.min().map_or(0, |ns| ns.try_into().unwrap_or(u32::MAX))
}

#[cfg(target_arch = "x86_64")]
fn additions(rounds: u64) {
    // SAFETY: it changes the registers that it names and no memory.
    unsafe {
        std::arch::asm!(
            "2:",
            "add {a}, 1", "add {b}, 1", "add {c}, 1", "add {d}, 1",
            "add {e}, 1", "add {f}, 1", "add {g}, 1", "add {h}, 1",
            "dec {n}",
            "jnz 2b",
            n = inout(reg) rounds => _,
            a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
            e = out(reg) _, f = out(reg) _, g = out(reg) _, h = out(reg) _,
            options(nomem, nostack),
        );
    }
}

#[cfg(target_arch = "aarch64")]
fn additions(rounds: u64) {
    // SAFETY: it changes the registers that it names and no memory.
    unsafe {
        std::arch::asm!(
            "2:",
            "add {a}, {a}, #1", "add {b}, {b}, #1", "add {c}, {c}, #1", "add {d}, {d}, #1",
            "add {e}, {e}, #1", "add {f}, {f}, #1", "add {g}, {g}, #1", "add {h}, {h}, #1",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            n = inout(reg) rounds => _,
            a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
            e = out(reg) _, f = out(reg) _, g = out(reg) _, h = out(reg) _,
            options(nomem, nostack),
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn additions(rounds: u64) {
    let mut sums = [0_u64; 8];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = std::hint::black_box(*sum).wrapping_add(1);
        }
    }
}
