//! Flags of a brigade.

use contract::message::{Claim, Description, Need, Needs};
use contract::units::Bytes;
use contract::{BadUsage, Flags};

use crate::{ChainsFlags, FaultFlags, Transport};

/// Descriptors besides the links': the standard three, an epoll, a timer, and a few of a runtime.
const DESCRIPTORS_TO_SPARE: u64 = 16;

/// Links and tokens of a brigade.
#[derive(Clone, Debug, clap::Args)]
pub struct ChainFlags {
    /// Kind of the links
    #[arg(long, value_enum, default_value_t = Transport::Pipe)]
    pub transport: Transport,

    /// Tokens in flight at once
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens: u32,

    /// Size of a token; a task reads all of it before it writes any
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "1", value_parser = token_size)]
    pub bytes: Bytes,

    /// Visit the tasks in another order than that of their creation
    #[arg(long, value_name = "SEED", allow_negative_numbers = true, help_heading = "Advanced")]
    pub shuffle: Option<u64>,

    /// Further tasks of the same kind, which wait on links of their own that carry no token
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0, value_parser = clap::value_parser!(u32), help_heading = "Advanced")]
    pub idle: u32,

    #[command(flatten)]
    #[expect(missing_docs, reason = "hidden flags for tests")]
    pub fault: FaultFlags,
}

/// Size of a token: at least its number, a byte.
fn token_size(text: &str) -> Result<Bytes, String> {
    within(text, 1, 1 << 30)
}

/// Size of a read buffer: at most what a pipe holds by default (fs.pipe-max-size).
fn buffer_size(text: &str) -> Result<Bytes, String> {
    within(text, 1, 1 << 20)
}

fn within(text: &str, least: u64, most: u64) -> Result<Bytes, String> {
    let size: Bytes = text.parse()?;
    if (least..=most).contains(&size.0) {
        return Ok(size);
    }
    Err(format!("it must be from {} to {}", Bytes(least), Bytes(most)))
}

/// How much a non-blocking read asks for.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ReadBuffer {
    /// Bytes that a read asks for [default: a token]; after a short read nothing is left, after a
    /// full one a second read finds out
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = buffer_size, help_heading = "Advanced")]
    pub read_buffer: Option<Bytes>,
}

impl ReadBuffer {
    /// Bytes of a read: a token at least.
    pub fn size(self, chain: &ChainFlags) -> anyhow::Result<usize> {
        let token = chain.token_size();
        let size = self.read_buffer.map_or(token, |size| size.0 as usize);
        if size < token {
            return Err(BadUsage::new(format!(
                "--read-buffer {size}: a token has {token} bytes: drop it, or raise it to that"
            )));
        }
        Ok(size)
    }
}

impl ChainFlags {
    /// Size of a token in bytes.
    pub fn token_size(&self) -> usize {
        self.bytes.0 as usize
    }

    /// True if a token is one byte.
    pub fn is_byte(&self) -> bool {
        self.token_size() == 1
    }

    /// Description of a brigade. The driver sends all tokens before it takes the first one back, so it is an
    /// error if the links do not hold them.
    pub fn describe(
        &self,
        program: &str,
        flags: &Flags,
        chains: ChainsFlags,
        claim: Claim,
        needs: Needs,
    ) -> anyhow::Result<Description> {
        self.fault.check(flags.tasks, chains.chains)?;
        self.check_room(claim, flags.tasks)?;
        Ok(chains.describe(Description {
            hops: Some((u64::from(flags.tasks) + 1) * u64::from(self.tokens)),
            tokens: self.tokens.into(),
            bytes: Some(self.payload()),
            needs: needs.beside(self.idle),
            ..Description::new(program, flags, claim)
        }))
    }

    /// Bytes of all tokens.
    fn payload(&self) -> u64 {
        self.bytes.0 * u64::from(self.tokens)
    }

    /// Needs of the links and the tokens, if each read asks for so many bytes.
    pub fn needs(&self, read_size: usize) -> Needs {
        // From 128 KiB on an allocation is a map of its own (M_MMAP_THRESHOLD, mallopt(3)).
        let maps = u64::from(read_size >= 128 << 10);
        Needs {
            descriptors: Need::new(2 + DESCRIPTORS_TO_SPARE, 2),
            maps: Need::new(64, maps),
            bytes: Need::new(
                self.payload() + self.bytes.0 + (4 << 20),
                self.transport.kernel_bytes() + read_size as u64,
            ),
            ..Needs::default()
        }
    }

    /// Checks that the links hold the tokens. A program that claims no switch writes all of them before
    /// it reads one.
    fn check_room(&self, claim: Claim, tasks: u32) -> anyhow::Result<()> {
        let (tokens, size) = (self.tokens, self.token_size());
        let is_read_meanwhile = claim != Claim::NoSwitch;
        if tokens == 1 && (size <= 4096 || is_read_meanwhile) {
            return Ok(());
        }
        let link = self.transport.capacity(size)?;
        // Full links pass on only what the next one has room for.
        let (most, holds) = if is_read_meanwhile {
            (link.max(tasks.into()), "a link holds, and than there are tasks")
        } else {
            (link, "a link holds")
        };
        if u64::from(tokens) <= most {
            return Ok(());
        }
        Err(BadUsage::new(if most == 0 {
            format!(
                "--bytes {size} is more than a link holds, and nobody reads while it is written: lower it"
            )
        } else {
            format!(
                "--tokens {tokens} of {size} bytes is more than {holds} (at most {most}): lower it"
            )
        }))
    }
}
