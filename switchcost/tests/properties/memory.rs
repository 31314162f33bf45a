//! Memory that a call takes at most: an allocator that counts, each thread for itself.

#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Memory that anything may take, whatever the length of its input, in bytes.
const FIXED: isize = 4 << 20;

/// Memory that it may take for each byte of its input. A record of two bytes a field becomes figures and a page.
const PER_BYTE: isize = 200;

thread_local! {
    /// Memory in use, and the most of it so far, in bytes.
    static IN_USE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn add(bytes: isize) {
    let (in_use, most) = IN_USE.get();
    IN_USE.set((in_use + bytes, most.max(in_use + bytes)));
}

// SAFETY: all calls go to the system's allocator as they come; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as isize - layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Calls `work` with an input, and expects that it takes no more memory than so many times the input's length.
pub(super) fn bounded<T: AsRef<[u8]> + ?Sized>(input: &T, work: impl FnOnce(&T)) {
    let (before, _) = IN_USE.get();
    IN_USE.set((before, before));
    work(input);
    let (_, most) = IN_USE.get();
    let length = input.as_ref().len() as isize;
    let taken = most - before;
    assert!(taken <= FIXED + PER_BYTE * length, "{taken} bytes of memory for {length} of input");
}

#[test]
fn memory_is_counted() {
    bounded("", |_| drop(vec![1_u8; FIXED as usize - 1]));
    let beyond = std::panic::catch_unwind(|| bounded("", |_| drop(vec![1_u8; FIXED as usize + 1])));
    assert!(beyond.is_err());
}
