//! Writes that end at a signal, whatever reads them.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::write;

use crate::system::signals;

/// Bytes that a pipe takes without a wait if it takes any: PIPE_BUF.
const PIECE: usize = 4096;

/// Time that a reader has for each piece once a signal has asked to stop, in ms.
const PATIENCE: u16 = 1000;

/// Writes all bytes. A reader that takes nothing is waited for until a signal comes, and then for a second.
pub(crate) fn whole(to: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    let to = to.as_fd();
    let is_file = SFlag::from_bits_truncate(fstat(to)?.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG;
    while !bytes.is_empty() {
        if !is_file {
            wait(to)?;
        }
        let length = if is_file { bytes.len() } else { bytes.len().min(PIECE) };
        match write(to, &bytes[..length]) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Waits until it takes something.
fn wait(to: BorrowedFd<'_>) -> io::Result<()> {
    loop {
        let signal = signals::descriptor().filter(|_| signals::received().is_none());
        let patience =
            if signals::received().is_some() { PATIENCE.into() } else { PollTimeout::NONE };
        let mut polled = vec![PollFd::new(to, PollFlags::POLLOUT)];
        polled.extend(signal.map(|signal| PollFd::new(signal, PollFlags::POLLIN)));
        match poll(&mut polled, patience) {
            Ok(0) => {
                let why = "nobody reads the output, and a signal asked to stop";
                return Err(io::Error::new(ErrorKind::TimedOut, why));
            }
            Ok(_) if polled[0].any().unwrap_or(true) => return Ok(()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
