//! How large the pipes of a chain came out.
//!
//! Kernel fact (`alloc_pipe_info`, fs/pipe.c): once the pipes of a user hold more pages than
//! `fs.pipe-user-pages-soft` (16,384: 1,024 pipes of 16 pages), new ones get two pages, or one
//! before Linux 5.14, unless the process holds CAP_SYS_RESOURCE or CAP_SYS_ADMIN. Nothing fails,
//! and only `F_GETPIPE_SZ` (fcntl(2)) tells.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, ensure};
use nix::fcntl::{FcntlArg, fcntl};
use nix::unistd::{SysconfVar, sysconf};

use super::{Mode, Transport, fill};
use crate::limits::PAGES_OF_A_PIPE;
use crate::notes::Note;
use crate::payload::Payload;
use crate::units::Bytes;

/// How many links hold how many bytes. There is one chain in a process.
static SIZES: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

/// Looks at the size of a pipe that has just been made. Programs that make theirs by
/// [`super::Transport::link`] need not call it.
pub fn count(end: impl AsFd) {
    if let Some(size) = size_of(end) {
        let mut sizes = SIZES.lock().unwrap_or_else(PoisonError::into_inner);
        *sizes.entry(size).or_default() += 1;
    }
}

/// The size of a pipe in bytes. A kernel that does not tell it leaves the note out.
fn size_of(end: impl AsFd) -> Option<u64> {
    let size = fcntl(end, FcntlArg::F_GETPIPE_SZ).ok()?;
    u64::try_from(size).ok()
}

/// What a reader should know of the pipes that were made, if anything.
pub(crate) fn note() -> Option<Note> {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    let sizes = SIZES.lock().unwrap_or_else(PoisonError::into_inner);
    small(&sizes, usual(page))
}

/// The size of a pipe, in bytes, where nothing makes it smaller.
fn usual(page: i64) -> u64 {
    page.unsigned_abs() * PAGES_OF_A_PIPE
}

/// Checks that the pipes which were made hold so many tokens each, also those that came out small.
///
/// # Errors
/// Where they do not, with the setting that makes them so.
pub fn check_room(tokens: u32, payload: Payload) -> anyhow::Result<()> {
    let sizes = SIZES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let usual = sysconf(SysconfVar::PAGE_SIZE)?.map_or(0, usual);
    let Some((&smallest, &links)) = sizes.range(..usual).next() else {
        return Ok(());
    };
    let most = capacity(smallest, payload)?;
    ensure!(
        u64::from(tokens) <= most,
        "{links} pipes hold only {}, since the share of this user is used up, and so at most {most} \
        tokens of {}: lower --tasks, --tokens or --bytes, or raise fs.pipe-user-pages-soft \
        (sudo sysctl -w fs.pipe-user-pages-soft=0 ends the limit)",
        Bytes(smallest),
        payload.bytes
    );
    Ok(())
}

/// How many tokens a pipe of so many bytes holds.
fn capacity(bytes: u64, payload: Payload) -> anyhow::Result<u64> {
    let link = Transport::Pipe.make(Mode::NonBlocking)?;
    let size = FcntlArg::F_SETPIPE_SZ(i32::try_from(bytes)?);
    fcntl(&link.writer, size).context("cannot give a pipe the size of the others")?;
    fill(link, payload)
}

fn small(sizes: &BTreeMap<u64, u64>, usual: u64) -> Option<Note> {
    let (bytes, _) = sizes.range(..usual).next()?;
    Some(Note::SmallPipes {
        links: sizes.range(..usual).map(|(_, links)| links).sum(),
        of: sizes.values().sum(),
        bytes: *bytes,
        usual,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::{Mode, Transport};

    #[test]
    fn pipes_that_are_smaller_than_usual_are_noted() {
        let usual = 65_536;
        assert_eq!(small(&BTreeMap::new(), usual), None);
        assert_eq!(small(&BTreeMap::from([(usual, 9)]), usual), None);
        let sizes = BTreeMap::from([(4096, 2), (8192, 5), (usual, 1000)]);
        let note = small(&sizes, usual).unwrap();
        assert_eq!(
            note,
            Note::SmallPipes {
                links: 7,
                of: 1007,
                bytes: 4096,
                usual
            }
        );
        assert!(
            note.to_string()
                .contains("7 of 1007 pipes hold only 4.000 KiB")
        );
    }

    #[test]
    fn a_small_pipe_holds_fewer_tokens() {
        let held = |size, bytes| {
            let bytes = Bytes(bytes);
            capacity(size, Payload { bytes }).unwrap()
        };
        let page = sysconf(SysconfVar::PAGE_SIZE).unwrap().unwrap() as u64;
        assert_eq!(held(2 * page, 1), 2 * page);
        assert_eq!(held(2 * page, page), 2);
        assert_eq!(held(2 * page, 2 * page + 1), 0);
    }

    #[test]
    fn a_pipe_is_counted_and_a_socket_is_not() {
        let counted = || SIZES.lock().unwrap().values().sum::<u64>();
        let socket = Transport::Socketpair.link(Mode::Blocking).unwrap();
        assert_eq!(size_of(&socket.writer), None);
        let before = counted();
        let _pipe = Transport::Pipe.link(Mode::Blocking).unwrap();
        // Other tests make links at the same time.
        assert!(counted() > before);
    }
}
