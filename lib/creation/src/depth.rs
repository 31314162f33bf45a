//! Stack that a task has used before it waits.

use std::hint::black_box;

use contract::units::Bytes;

/// Flag of tasks that use their stack.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DepthFlags {
    /// Depth to which each held task has once used the stack that it runs on: it calls so far down, and
    /// returns, before it waits (see --command)
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = depth, conflicts_with_all = ["sleep", "floor"], help_heading = "Advanced")]
    pub stack_depth: Bytes,
}

/// Greatest depth: half the stack of a Tokio worker.
const DEEPEST: Bytes = Bytes(1 << 20);

/// Bytes that one call takes of the stack, at least.
const FRAME: usize = 1024;

fn depth(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        depth if depth > DEEPEST => Err(format!("{DEEPEST} at most")),
        depth => Ok(depth),
    }
}

impl DepthFlags {
    /// Uses the stack of the caller down to the depth, and returns.
    #[inline(never)]
    pub fn use_stack(self) {
        let top = 0u8;
        let top = &raw const top as usize;
        if self.stack_depth.0 > 0 {
            descend(top.saturating_sub(self.stack_depth.0 as usize));
        }
    }
}

/// Calls itself until its frame lies at that address or below: stacks grow down.
#[inline(never)]
fn descend(bottom: usize) {
    let mut frame = [0u8; FRAME];
    if black_box(&mut frame).as_ptr() as usize > bottom {
        descend(bottom);
    }
    // Used after the call, so that the frame is still there during it.
    black_box(&mut frame);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// A stack of 1 MiB bears no more; one that is too small would end the process.
    #[test]
    fn a_stack_is_used_no_deeper_than_asked() {
        let flags = DepthFlags { stack_depth: Bytes(1 << 20) };
        let thread = thread::Builder::new().stack_size((1 << 20) + (64 << 10));
        thread.spawn(move || flags.use_stack()).unwrap().join().unwrap();
    }
}
