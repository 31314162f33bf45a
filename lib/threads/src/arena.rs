//! Stacks of all threads in one mapping.

#![expect(unsafe_code, reason = "the memory of the stacks is mapped and unmapped")]

use std::cell::RefCell;
use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};
use std::rc::Rc;

/// A mapping with the stacks of so many threads. It lives as long as its last [`Slot`], and until then a
/// page that a thread has touched stays resident, for the next thread in the same slot.
#[derive(Debug)]
pub(crate) struct Arena {
    base: NonNull<c_void>,
    size: usize,
    slots: u32,
    /// The slots that no thread is using, the next one last.
    free: RefCell<Vec<u32>>,
}

/// The memory of one stack, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    arena: Rc<Arena>,
    index: u32,
}

impl Arena {
    /// Maps `slots` stacks of `size` bytes, a multiple of the page size. `MAP_NORESERVE`, since with the usual
    /// vm.overcommit_memory of 0 the kernel refuses a mapping larger than its memory.
    pub(crate) fn map(size: usize, slots: u32) -> io::Result<Rc<Self>> {
        let bytes = size.checked_mul(slots as usize);
        let bytes = bytes.ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: new memory at an address of the kernel's choice, which nothing else uses.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: advice on the mapping just made. A huge page would make a single touched stack
        // resident as 2 MiB; a kernel that refuses the advice has none.
        unsafe { libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE) };
        Ok(Rc::new(Arena {
            base: NonNull::new(base).ok_or(io::ErrorKind::AddrNotAvailable)?,
            size,
            slots,
            free: RefCell::new((0..slots).rev().collect()),
        }))
    }

    /// The memory of a stack that no thread is using.
    pub(crate) fn take(self: &Rc<Self>) -> io::Result<Slot> {
        let free = self.free.borrow_mut().pop();
        let index = free.ok_or_else(|| {
            io::Error::other(format!("all {} stacks of the arena are in use", self.slots))
        })?;
        Ok(Slot { arena: Rc::clone(self), index })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is this arena's, of this size, and no slot of it is left.
        unsafe { libc::munmap(self.base.as_ptr(), self.size * self.slots as usize) };
    }
}

impl Slot {
    /// The lowest address.
    pub(crate) fn lowest(&self) -> *mut c_void {
        let offset = self.arena.size * self.index as usize;
        self.arena.base.as_ptr().wrapping_byte_add(offset)
    }

    /// The number of bytes from there.
    pub(crate) fn size(&self) -> usize {
        self.arena.size
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.arena.free.borrow_mut().push(self.index);
    }
}
