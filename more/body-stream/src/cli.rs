//! The command line, and what it needs.

use blocking::{BlockingFlags, neighbours};
use brigade::allowed_cpus;
use clap::Parser;
use contract::message::{Claim, Description, Need, Needs, PassKind};
use contract::{BadUsage, Defaults, Flags, Program};
use host::units::Bytes;

use crate::content::CHUNK;
use crate::folder::{Folder, Huge};
use crate::store::Store;

/// Time an async HTTP client that receives bodies and keeps them in memory or in files
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of bodies to receive at the same time, per iteration")))]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    /// Where a body is kept until it is summed up, and by which operations
    #[arg(long, value_enum, default_value = "ram")]
    pub(crate) store: Store,
    /// Put the files into a tmpfs of the program's own, with or without huge pages [default: TMPDIR, or /tmp]
    #[arg(long, value_enum, value_name = "HUGE")]
    pub(crate) tmpfs: Option<Huge>,
    /// Size of a body
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, default_value = "8MiB", value_parser = size)]
    pub(crate) size: Bytes,
    #[command(flatten)]
    pub(crate) blocking: BlockingFlags,
}

fn size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        size @ Bytes(1..=0x4000_0000_0000) => Ok(size),
        size => Err(format!("{size}: a body has from 1 B to 64 TiB")),
    }
}

/// Bytes of a connection: what the kernel queues, and what is read at once.
const CONNECTION_BYTES: u64 = 1 << 20;

/// Bytes that keep track of a chunk, twice while a list of them grows.
const CHUNK_BYTES: u64 = 128;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 16, iters: 20, warmup: 2 };

    fn describe(&self) -> anyhow::Result<Description> {
        if self.tmpfs.is_some() && !self.store.has_files() {
            return Err(BadUsage::new(
                "--tmpfs: this --store has no files: drop it, or use --store fs, mmap or mmap-copy",
            ));
        }
        let tasks = u64::from(self.flags.tasks);
        self.blocking.describe(Description {
            bytes: Some(tasks.saturating_mul(self.size.0)),
            passes: vec![PassKind::main(), neighbours::pass()],
            needs: self.needs()? + neighbours::needs(),
            ..Description::new("body-stream", &self.flags, Claim::UserSwitch)
        })
    }
}

impl Cli {
    /// Folder of the files; `None` if the store has none.
    pub(crate) fn folder(&self) -> anyhow::Result<Option<Folder>> {
        match self.tmpfs {
            _ if !self.store.has_files() => Ok(None),
            Some(huge) => Folder::tmpfs(huge).map(Some),
            None => Ok(Some(Folder::temporary())),
        }
    }

    /// Needs of the server, the connections and the bodies.
    fn needs(&self) -> anyhow::Result<Needs> {
        let size = self.size.0;
        let chunks = size + size / 2 + size.div_ceil(CHUNK) * CHUNK_BYTES;
        let kept = match self.store {
            Store::Ram => chunks,
            Store::RamGather => chunks + size,
            // A tmpfs may have huge pages.
            _ if self.tmpfs.is_some()
                || self.folder()?.is_some_and(|folder| folder.is_in_memory()) =>
            {
                size.next_multiple_of(2 << 20)
            }
            _ => 0,
        };
        let has_map = self.store.has_maps() || self.store == Store::RamGather;
        let server = allowed_cpus()?.len() as u64 + 1;
        Ok(Needs {
            descriptors: Need::new(1, 1 + u64::from(self.store.has_files())),
            threads: Need::new(server, 0),
            maps: Need::new(64, u64::from(has_map)),
            bytes: Need::new(16 << 20, CONNECTION_BYTES + kept),
            ..Needs::default()
        })
    }
}
