//! Buffers that the kernel picks for operations that stay: io_uring_register_buf_ring(3).

#![expect(unsafe_code, reason = "memory is shared with the kernel")]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::cell::Cell;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// The only group of buffers.
pub(super) const GROUP: u16 = 0;

/// The kernel wants the ring to begin with a page. No system has larger ones.
const PAGE: usize = 64 << 10;

/// Buffers of a byte each, so that each token completes by itself, as where a read asks for one
/// byte. There are as many as completions find room: none is missing before one is late.
///
/// They are never freed: the kernel may write to them until the ring is gone, and close(2) does not
/// wait for that.
pub(super) struct Buffers {
    entries: NonNull<BufRingEntry>,
    bytes: &'static [Cell<u8>],
    tail: Cell<u16>,
}

impl Buffers {
    /// Gives the ring its buffers.
    ///
    /// # Errors
    /// What io_uring_register(2) reports: EINVAL before Linux 5.19.
    pub(super) fn register(io: &IoUring) -> io::Result<Self> {
        let count = io.params().cq_entries().min(1 << 15) as u16;
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
        let buffers = Buffers {
            entries,
            bytes: Box::leak(vec![Cell::new(0); usize::from(count)].into_boxed_slice()),
            tail: Cell::new(0),
        };
        for id in 0..count {
            buffers.provide(id);
        }
        Ok(buffers)
    }

    /// The byte in a buffer that the kernel has filled; the kernel may fill it again.
    pub(super) fn take(&self, id: u16) -> u8 {
        let byte = self.bytes[usize::from(id)].get();
        self.provide(id);
        byte
    }

    fn provide(&self, id: u16) {
        let tail = self.tail.get();
        // Their number is a power of two.
        let place = usize::from(tail) & (self.bytes.len() - 1);
        // SAFETY: the place is one of the ring's; the kernel does not look at it before the tail
        // has passed it, and fewer buffers are out than there are places.
        let entry = unsafe { self.entries.add(place).as_mut() };
        let buffer = self.bytes[usize::from(id)].as_ptr();
        entry.set_addr(buffer.expose_provenance() as u64);
        entry.set_len(1);
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
