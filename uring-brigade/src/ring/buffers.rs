//! Buffers that the kernel picks for multishot operations: io_uring_register_buf_ring(3).

#![expect(unsafe_code, reason = "memory is shared with the kernel")]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// The only group of buffers.
pub(super) const GROUP: u16 = 0;

/// The kernel wants the ring to begin with a page. No system has larger ones.
const PAGE: usize = 64 << 10;

/// Number and size of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    /// Bytes of each.
    pub(crate) size: usize,
    /// Their number, a power of two.
    pub(crate) count: u16,
}

impl Pool {
    /// Most bytes of all buffers. Where the kernel has none left, it says so and is asked again.
    const MEMORY: usize = 16 << 20;

    /// Most bytes of a buffer: what a link holds by default. Larger tokens come in parts.
    const LARGEST: usize = 64 << 10;

    /// Buffers for tokens of so many bytes, on a ring with room for so many completions. A buffer holds
    /// one token, so that each token is a completion, as where a read asks for one.
    pub(crate) fn of(token: usize, completions: u32) -> Self {
        let size = token.min(Self::LARGEST);
        let most = (Self::MEMORY / size).min(1 << 15);
        let count = (completions as usize).min(most);
        Pool {
            size,
            // The largest power of two that is not larger.
            count: 1 << count.ilog2(),
        }
    }

    /// Bytes of all of them.
    pub(crate) fn memory(self) -> u64 {
        self.size as u64 * u64::from(self.count)
    }
}

/// The buffers.
///
/// They are never freed: the kernel may write to them until the ring is gone, and close(2) does not wait
/// for that.
pub(super) struct Buffers {
    entries: NonNull<BufRingEntry>,
    bytes: &'static [Cell<u8>],
    pool: Pool,
    tail: Cell<u16>,
}

impl Buffers {
    /// Gives the ring its buffers.
    ///
    /// # Errors
    /// What io_uring_register(2) reports: EINVAL before Linux 5.19.
    pub(super) fn register(io: &IoUring, pool: Pool) -> io::Result<Self> {
        let count = pool.count;
        let size = usize::from(count) * size_of::<BufRingEntry>();
        let layout = Layout::from_size_align(size, PAGE).map_err(io::Error::other)?;
        // SAFETY: the size is not 0.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(entries) = NonNull::new(memory.cast::<BufRingEntry>()) else {
            handle_alloc_error(layout);
        };
        let address = memory.expose_provenance() as u64;
        let submitter = io.submitter();
        // SAFETY: the memory is as large as `count` entries, and never freed.
        unsafe { submitter.register_buf_ring_with_flags(address, count, GROUP, 0) }?;
        let bytes = vec![Cell::new(u8::MAX); pool.size * usize::from(count)];
        let buffers = Buffers {
            entries,
            bytes: Box::leak(bytes.into_boxed_slice()),
            pool,
            tail: Cell::new(0),
        };
        for id in 0..count {
            buffers.provide(id);
        }
        Ok(buffers)
    }

    /// Takes the bytes out of a buffer that the kernel has filled with so many, and gives it back.
    pub(super) fn take(&self, id: u16, came: usize, into: &mut VecDeque<u8>) {
        let buffer = &self.buffer(id)[..came];
        match buffer {
            [byte] => into.push_back(byte.get()),
            // SAFETY: the kernel has given the buffer back, and nobody else writes to it.
            _ => into.extend(unsafe { slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), came) }),
        }
        self.provide(id);
    }

    fn buffer(&self, id: u16) -> &'static [Cell<u8>] {
        &self.bytes[usize::from(id) * self.pool.size..][..self.pool.size]
    }

    fn provide(&self, id: u16) {
        let tail = self.tail.get();
        // Their number is a power of two.
        let place = usize::from(tail & (self.pool.count - 1));
        // SAFETY: the place is one of the ring's; the kernel does not look at it before the tail
        // has passed it, and fewer buffers are out than there are places.
        let entry = unsafe { self.entries.add(place).as_mut() };
        let buffer = self.buffer(id).as_ptr();
        entry.set_addr(buffer.expose_provenance() as u64);
        entry.set_len(self.pool.size as u32);
        entry.set_bid(id);
        let tail = tail.wrapping_add(1);
        self.tail.set(tail);
        // SAFETY: the entries are initialised and begin with a page; the tail lies within the
        // first one, aligned, and the kernel only reads it.
        let shared =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        shared.store(tail, Ordering::Release);
    }
}
