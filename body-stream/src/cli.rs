//! The command line, and what it asks for.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Command, Parser};
use harness::args::{Defaults, Run};
use harness::file_system::FileSystem;
use harness::limits::Demand;
use harness::placement::Place;
use harness::units::{Bytes, Span};
use harness::{BadUsage, Program};
use runtime::blocking::{Strategy, Threads};
use runtime::neighbours::Neighbours;
use runtime::pool::Bound;
use serde::Serialize;

use crate::content::Outline;
use crate::folder::Folder;
use crate::misdeed::TestServer;
use crate::process::{self, Order};
use crate::server::Framing;
use crate::store::{Faults, Store};

/// Receive HTTP bodies beside each other on a Tokio runtime, keep them in memory or in files, and time
/// it
#[derive(Parser, Serialize)]
#[command(version)]
pub(crate) struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) run: Run,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) place: Place,
    /// Where a body is kept until it is summarised, and by what operations
    #[arg(long, value_enum, default_value = "ram")]
    pub(crate) store: Store,
    /// Where each operation is done
    #[arg(long, value_enum, default_value = "direct")]
    pub(crate) strategy: Strategy,
    /// Who touches the map of --store mmap or mmap-copy, and has the page faults [default: operation]
    #[arg(long, value_enum)]
    pub(crate) faults: Option<Faults>,
    /// The folder for the files of --store fs, mmap or mmap-copy, which have no names and are gone
    /// when the program is [default: that for temporary files, TMPDIR or /tmp]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
    /// The size of each body
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "8MiB", value_parser = size)]
    pub(crate) size: Bytes,
    /// How the end of a body is told
    #[arg(long, value_enum, default_value = "chunked")]
    pub(crate) framing: Framing,
    /// The size of the pieces that the server sends
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "8KiB", value_parser = piece)]
    pub(crate) chunk: Bytes,
    /// What the bytes of the bodies follow from
    #[arg(
        long,
        value_name = "SEED",
        allow_negative_numbers = true,
        default_value = "1"
    )]
    pub(crate) seed: u64,
    /// Where the server is
    #[arg(long, value_enum, default_value = "process")]
    pub(crate) server: process::Place,
    /// Worker threads of the server's process [default: one for each CPU of the run]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) server_workers: Option<u32>,
    /// How many threads there may be in all besides the main one: workers alone for direct, else up to
    /// four workers (no more than half) and others that may block
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "8", value_parser = clap::value_parser!(u32).range(2..=32768))]
    pub(crate) threads: u32,
    /// How many operations may wait for a thread of the pool of --strategy dispatch [default:
    /// unbounded]
    #[arg(long, value_enum)]
    pub(crate) queue: Option<Bound>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) neighbours: Neighbours,
    /// Give up when no body has come any further for so long
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "30s", value_parser = patience)]
    pub(crate) timeout: Span,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) test_server: TestServer,
}

/// A size of bodies: of one byte or more, and within any address space.
fn size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        Bytes(0) => Err("a body needs a byte at least".to_owned()),
        Bytes(size) if size > 1 << 46 => Err("that is more than the address space".to_owned()),
        size => Ok(size),
    }
}

fn piece(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        size @ Bytes(1..=0x400_0000) => Ok(size),
        size => Err(format!("{size} is not from 1 B to 64 MiB")),
    }
}

fn patience(text: &str) -> Result<Span, String> {
    match text.parse()? {
        span @ Span(1_000_000..) => Ok(span),
        span => Err(format!("{span} is less than 1ms")),
    }
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults {
        tasks: 16,
        iters: 20,
        warmups: 2,
    };

    fn run(&self) -> &Run {
        &self.run
    }

    /// `--threads`, elsewhere another word for the tasks, is a flag of its own here.
    fn adapt(command: Command) -> Command {
        command.mut_arg("tasks", |tasks| {
            tasks
                .visible_alias(None)
                .help("How many responses are received at once, each by a task of its own")
        })
    }
}

impl Cli {
    /// Which flags go together.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let in_process = self.server == process::Place::Process;
        let deadly = self.test_server.test_server.is_some_and(|m| m.is_deadly());
        let misplaced = [
            (
                self.faults.is_some() && !self.store.has_maps(),
                "--faults: only a map has such faults: use --store mmap or mmap-copy",
            ),
            (
                self.dir.is_some() && !self.store.has_files(),
                "--dir: only files need a folder: use --store fs, mmap or mmap-copy",
            ),
            (
                self.queue.is_some() && self.strategy != Strategy::Dispatch,
                "--queue: only a pool of its own has one: use --strategy dispatch",
            ),
            (
                self.server_workers.is_some() && !in_process,
                "--server-workers: only a server in a process of its own has some: use --server process",
            ),
            (
                deadly && !in_process,
                "--test-server die: it would be the end of all: use --server process",
            ),
        ];
        match misplaced.iter().find(|(is_so, _)| *is_so) {
            Some((_, words)) => Err(BadUsage::new(*words)),
            None => Ok(()),
        }
    }

    pub(crate) fn order(&self) -> Order {
        Order {
            outline: self.outline(),
            piece: self.chunk.0,
            framing: self.framing,
            misdeed: self.test_server.test_server,
        }
    }

    pub(crate) fn outline(&self) -> Outline {
        Outline {
            size: self.size.0,
            seed: self.seed,
        }
    }

    pub(crate) fn threads(&self) -> Threads {
        self.strategy.divide(self.threads)
    }

    /// The folder, where there are files, with room for them.
    pub(crate) fn folder(&self) -> anyhow::Result<Option<Arc<Folder>>> {
        if !self.store.has_files() {
            return Ok(None);
        }
        let folder = Folder::open(self.dir.as_deref())?;
        folder.check_room(self.run.tasks, self.size)?;
        Ok(Some(Arc::new(folder)))
    }

    /// What the run needs of the system, but for the runtime and the server's process.
    pub(crate) fn demand(&self, files: Option<&FileSystem>) -> Demand {
        let size = self.size.0;
        let pieces = || Demand::kept_in_pieces(size, self.chunk.0);
        let in_memory = match files.and_then(|files| files.kind.as_deref()) {
            Some("tmpfs") => size,
            _ => 0,
        };
        let kept = match self.store {
            Store::Ram => pieces(),
            Store::RamGather => pieces() + Demand::kept_whole(size),
            Store::Fs => Demand::kept_in_files(0, in_memory),
            Store::Mmap | Store::MmapCopy => Demand::kept_in_files(size, in_memory),
        };
        let ends = match self.server {
            process::Place::Process => 1,
            process::Place::SameRuntime => 2,
        };
        let beside = self.threads().demand_of_pool() + Neighbours::demand();
        Demand::connections(ends) + kept + beside
    }
}
