//! A task of a chain that blocks: a thread or a process.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use crate::{ChainFlags, Fault, Reader, TokenBuffer};

/// Takes a token, adds one to it, hands it on, until the end of file. Returns the number of tokens.
pub fn pass_on(
    from: OwnedFd,
    to: OwnedFd,
    fault: Option<Fault>,
    chain: &ChainFlags,
) -> io::Result<u64> {
    if chain.is_byte() && fault.is_none() {
        pass_bytes(from.into(), to.into())
    } else {
        pass_tokens(Reader::new(from, fault), to.into(), chain)
    }
}

fn pass_bytes(mut from: File, mut to: File) -> io::Result<u64> {
    let mut passed = 0;
    let mut token = [0];
    while from.read(&mut token)? == 1 {
        token[0] = token[0].wrapping_add(1);
        to.write_all(&token)?;
        passed += 1;
    }
    Ok(passed)
}

/// The same with tokens of any size, of which one read may bring several.
fn pass_tokens(mut from: Reader, mut to: File, chain: &ChainFlags) -> io::Result<u64> {
    let mut buffer = TokenBuffer::new(chain, chain.token_size());
    let mut passed = 0;
    while let read @ 1.. = from.read(buffer.room())? {
        for token in buffer.whole(read) {
            token[0] = token[0].wrapping_add(1);
            to.write_all(token)?;
            passed += 1;
        }
    }
    buffer.end().map(|()| passed)
}
