//! Everyday work of programs, to compare a switch with.
//!
//! One iteration: N operations in a row by one thread, where N is `--tasks`. `--work` names the
//! operation:
//! - `json`: a JSON document of 1 KiB is parsed into a `serde_json::Value`, which is then released;
//! - `tls-record`: a record of TLS 1.3 with 1 KiB of content is opened: AES-128-GCM, in place;
//! - `page-read`: 4 KiB of a file in the page cache (memfd_create(2)) are read by pread(2);
//! - `getpid`: a system call that does nothing;
//! - `walk`: the next of N cache lines is read, in an order that no prefetcher knows: what a chain does with its memory,
//!   without a switch;
//! - `page-fault`: a byte of a new page of private anonymous memory is written: in a minor page fault the kernel
//!   finds a page and clears it. Huge pages are off;
//! - `yield`: the thread gives its CPU to another one, which gives it back: sched_yield(2). Pin the program to one CPU.
//!   The CPU time per switch, and not the time per operation, is what the kernel's switch costs: another thread may be
//!   picked, or the same one again.
//!
//! Timed: those operations. Left out: sealing the records, giving the pages back (MADV_DONTNEED), and the
//! check of the results. For `page-fault` that includes the kernel's count: at least one fault for each page.
//!
//! Not to be taken for the cost in a real program: its caches hold other things, while here code and data are warm, and
//! a new page was given back just before. Other libraries are faster or slower.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use aes_gcm::{AeadInOut, Aes128Gcm, KeyInit, Tag};
use anyhow::{Context, anyhow, ensure};
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs};
use contract::{Defaults, Flags, Pass, Program, Run, limits};
use fastrand::Rng;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::getpid;
use serde_json::Value;

mod page_fault;

/// Time everyday work, to compare a switch with: JSON, a TLS record, reads, a system call, a page fault
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of operations per iteration")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Operation to time
    #[arg(long, value_enum, default_value_t = Work::Json)]
    work: Work,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Work {
    /// parse 1 KiB of JSON
    Json,
    /// decrypt and check a TLS record of 1 KiB
    TlsRecord,
    /// read 4 KiB from the page cache
    PageRead,
    /// call getpid(2)
    Getpid,
    /// read the next of N cache lines
    Walk,
    /// write to a page of memory for the first time
    PageFault,
    /// give the CPU to another thread
    Yield,
}

/// Bytes of a document, and of a record's content.
const KIB: usize = 1024;

/// A document such as services exchange: objects in an array, with text, numbers, truth values and white space.
const DOCUMENT: &[u8; KIB] = include_bytes!("orders.json");

/// Bytes of a page.
const PAGE: usize = 4096;

/// Pages of the file that is read.
const FILE_PAGES: usize = 256;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 100, iters: 1000, warmup: 100 };

    fn describe(&self) -> anyhow::Result<Description> {
        // The values of a parsed document take some times its length; a page has 64 KiB on some systems.
        let each = page_fault::page_size().max(16 << 10);
        let other = u64::from(self.work == Work::Yield);
        let needs = Needs {
            threads: Need::new(other, 0),
            maps: Need::new(4 * other, 0),
            bytes: Need::new(16 << 20, each),
            ..Needs::default()
        };
        Ok(Description { needs, ..Description::new("everyday-work", &self.flags, Claim::NoSwitch) })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| {
        let work = match cli.work {
            Work::Json => parse,
            Work::TlsRecord => open,
            Work::PageRead => read,
            Work::Getpid => call,
            Work::Walk => walk,
            Work::PageFault => page_fault::touch,
            Work::Yield => give_way,
        };
        while let Some(mut pass) = run.next_pass()? {
            let result = work(cli.flags.tasks as usize, &mut pass);
            run.finish(pass)?;
            result?;
        }
        Ok(())
    })
}

/// Parses N documents in each iteration, one after the other, and times that.
fn parse(n: usize, pass: &mut Pass) -> anyhow::Result<()> {
    let document = DOCUMENT.to_vec();
    let expected = serde_json::from_slice::<Value>(&document)?;
    let orders = expected.as_array().map_or(0, Vec::len) * n;
    while pass.next_iteration().is_some() {
        let (mut found, mut last) = (0, Value::Null);

        let clock = Instant::now();
        for _ in 0..n {
            last = serde_json::from_slice(black_box(&document))?;
            found += last.as_array().map_or(0, Vec::len);
        }
        pass.record(clock.elapsed());

        ensure!(found == orders && last == expected, "a document was parsed as {last}");
    }
    Ok(())
}

/// Opens N records in each iteration, and times that.
fn open(n: usize, pass: &mut Pass) -> anyhow::Result<()> {
    let cipher = Aes128Gcm::new(&[7; 16].into());
    // The content's type follows the content, as in TLS 1.3 (RFC 8446, section 5.2).
    let content: Vec<u8> = (0..=KIB).map(|k| k as u8).collect();
    let header = [23, 3, 3, 4, 17];
    let mut records = vec![(content.clone(), Tag::default()); n];
    let mut sequence = 0u64;
    while pass.next_iteration().is_some() {
        let first = sequence;
        for (record, tag) in &mut records {
            let sealed = cipher.encrypt_inout_detached(
                &nonce(sequence).into(),
                &header,
                record.as_mut_slice().into(),
            );
            *tag = sealed.map_err(|e| anyhow!("cannot seal a record: {e}"))?;
            ensure!(*record != content, "a record is not sealed");
            sequence += 1;
        }

        let clock = Instant::now();
        for (k, (record, tag)) in (first..).zip(&mut records) {
            let opened = cipher.decrypt_inout_detached(
                &nonce(k).into(),
                &header,
                record.as_mut_slice().into(),
                tag,
            );
            opened.map_err(|e| anyhow!("cannot open a record: {e}"))?;
        }
        pass.record(clock.elapsed());

        let is_open = records.iter().all(|(record, _)| *record == content);
        ensure!(is_open, "a record was opened with different content");
    }
    Ok(())
}

/// Nonce of a record: a constant, then its number.
fn nonce(sequence: u64) -> [u8; 12] {
    let mut nonce = [9; 12];
    nonce[4..].copy_from_slice(&sequence.to_be_bytes());
    nonce
}

/// Reads N pages in each iteration, and times that.
fn read(n: usize, pass: &mut Pass) -> anyhow::Result<()> {
    let whole: Vec<u8> = (0..FILE_PAGES * PAGE).map(|k| (k / 7) as u8).collect();
    let file = memfd_create(c"page-read", MFdFlags::MFD_CLOEXEC);
    let file = File::from(file.context("cannot make a file in memory")?);
    file.write_all_at(&whole, 0).context("cannot fill a file in memory")?;
    let expected: Vec<&[u8]> = whole.chunks_exact(PAGE).cycle().take(n).collect();
    let mut pages = vec![[0; PAGE]; n];
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for (k, page) in pages.iter_mut().enumerate() {
            let offset = k % FILE_PAGES * PAGE;
            file.read_exact_at(page, offset as u64)?;
        }
        pass.record(clock.elapsed());

        let is_read = pages.iter().zip(&expected).all(|(page, expected)| page == expected);
        ensure!(is_read, "a page was read with different content");
        pages.iter_mut().for_each(|page| page[0] = !page[0]);
    }
    Ok(())
}

/// Calls getpid(2) N times in each iteration, and times that.
fn call(n: usize, pass: &mut Pass) -> anyhow::Result<()> {
    let expected = i64::from(process::id()) * n as i64;
    while pass.next_iteration().is_some() {
        let mut sum = 0;

        let clock = Instant::now();
        for _ in 0..n {
            sum += i64::from(getpid().as_raw());
        }
        pass.record(clock.elapsed());

        ensure!(sum == expected, "getpid(2) returned the ID of another process");
    }
    Ok(())
}

/// A cache line that names another one.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine {
    next: u32,
}

/// Reads N cache lines in each iteration, each named by the one before, and times that.
fn walk(n: usize, pass: &mut Pass) -> anyhow::Result<()> {
    let mut lines: Vec<CacheLine> = (0..n as u32).map(|next| CacheLine { next }).collect();
    // Sattolo's shuffle: one round through all lines.
    let mut rng = Rng::with_seed(0);
    for k in (1..n).rev() {
        lines.swap(k, rng.usize(..k));
    }
    while pass.next_iteration().is_some() {
        let mut place = 0;

        let clock = Instant::now();
        for _ in 0..n {
            place = lines[place as usize].next;
        }
        pass.record(clock.elapsed());

        ensure!(place == 0, "the walk ended at line {place}, not where it began");
    }
    Ok(())
}

/// Calls sched_yield(2) N times in each iteration beside another thread that does so too, and times that.
fn give_way(n: usize, pass: &mut Pass) -> anyhow::Result<()> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let other = || {
            while !is_over.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        };
        let thread = thread::Builder::new().spawn_scoped(scope, other);
        thread.with_context(|| limits::refused("create a thread", "--tasks", 1))?;
        while pass.next_iteration().is_some() {
            let clock = Instant::now();
            for _ in 0..n {
                thread::yield_now();
            }
            pass.record(clock.elapsed());
        }
        is_over.store(true, Ordering::Relaxed);
        Ok(())
    })
}
