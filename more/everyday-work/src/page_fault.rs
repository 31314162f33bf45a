//! Minor page faults: pages of new memory, written for the first time.

#![expect(unsafe_code, reason = "the pages are given back to the kernel")]

use std::time::Instant;

use anyhow::{Context, ensure};
use contract::Pass;
use memmap2::{Advice, MmapMut, UncheckedAdvice};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::{SysconfVar, sysconf};

/// Last byte of a page before it is given back: if the kernel hands the page out again, this byte is 0.
const USED: u8 = 0xff;

/// Writes to N new pages in each iteration, and times that.
pub(crate) fn touch(n: usize, pass: &mut Pass) -> anyhow::Result<()> {
    let size = page_size() as usize;
    let mut pages = map(n * size)?;
    let mut mark = 0u8;
    while pass.next_iteration().is_some() {
        // Never 0, which a new page has.
        mark = mark % 100 + 1;
        let before = minor_faults()?;

        let clock = Instant::now();
        for page in pages.chunks_exact_mut(size) {
            page[0] = mark;
        }
        let elapsed = clock.elapsed();

        let faults = minor_faults()? - before;
        pass.record(elapsed);
        ensure!(
            faults >= n as u64,
            "the kernel counted {faults} minor page faults, but {n} pages were written"
        );
        let is_new = pages.chunks_exact(size).all(|page| page[0] == mark && page[size - 1] == 0);
        ensure!(is_new, "a page is not new, or has lost what was written to it");
        pages.chunks_exact_mut(size).for_each(|page| page[size - 1] = USED);
        give_back(&pages)?;
    }
    Ok(())
}

/// Bytes of a page.
pub(crate) fn page_size() -> u64 {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, i64::unsigned_abs)
}

/// Private anonymous memory without huge pages, where one fault would serve many pages.
fn map(bytes: usize) -> anyhow::Result<MmapMut> {
    let pages = MmapMut::map_anon(bytes).context("cannot map memory")?;
    // A kernel that refuses the advice has no huge pages.
    let _ = pages.advise(Advice::NoHugePage);
    Ok(pages)
}

/// Gives all pages back to the kernel, so that the next write to each is a fault again.
fn give_back(pages: &MmapMut) -> anyhow::Result<()> {
    // SAFETY: the memory is anonymous and private, it is borrowed by nobody else, and each byte of it may be 0.
    let given = unsafe { pages.unchecked_advise(UncheckedAdvice::DontNeed) };
    given.context("cannot give memory back: madvise(MADV_DONTNEED)")
}

/// Minor page faults of this thread so far.
fn minor_faults() -> anyhow::Result<u64> {
    let usage =
        getrusage(UsageWho::RUSAGE_THREAD).context("cannot count page faults: getrusage")?;
    Ok(usage.minor_page_faults().unsigned_abs())
}
