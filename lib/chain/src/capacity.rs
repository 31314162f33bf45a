//! How much a link holds before a write would block.

use std::fs::File;
use std::io::{ErrorKind, Write};

use anyhow::Context;
use nix::fcntl::{FcntlArg, OFlag, fcntl};

use crate::Transport;

/// Number of tokens of so many bytes that an empty link holds, found by filling one: a pipe merges
/// small writes into pages, and a socket keeps a buffer with its own overhead for each.
pub(crate) fn of(transport: Transport, token_size: usize) -> anyhow::Result<u64> {
    if transport == Transport::Eventfd {
        return Ok(1);
    }
    let (_reader, writer) = transport.descriptors()?;
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
        .context("cannot learn a link's capacity")?;
    let mut writer = File::from(writer);
    let token = vec![0; token_size];
    let mut held = 0;
    loop {
        match writer.write(&token) {
            Ok(written) if written == token.len() => held += 1,
            Ok(_) => return Ok(held),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(held),
            Err(e) => return Err(e).context("cannot learn a link's capacity"),
        }
    }
}
