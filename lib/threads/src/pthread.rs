//! Threads by pthread_create(3), which can be told what `std::thread` cannot: a stack of the caller's own.

#![expect(unsafe_code, reason = "threads are created by the C library and given raw pointers")]

use std::ffi::{c_int, c_void};
use std::io;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::thread;

use crate::arena::Slot;

/// A thread that must be joined: one that is not leaks its stack.
#[derive(Debug)]
pub(crate) struct Handle<T> {
    id: libc::pthread_t,
    /// Given back by `join` alone, for until then the thread may run on it.
    slot: ManuallyDrop<Slot>,
    result: PhantomData<T>,
}

/// Creates a thread that runs `body`; fails as pthread_create(3) does.
pub(crate) fn create<F, T>(slot: Slot, body: F) -> io::Result<Handle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let mut place = MaybeUninit::uninit();
    let attributes = Attributes::new(&mut place, &slot)?;
    let body = Box::into_raw(Box::new(body));
    let mut id = MaybeUninit::uninit();
    // SAFETY: the attributes are initialised. `run` takes the one pointer to a body of its own
    // type, and what it points to may be sent and borrows nothing. The stack is this thread's
    // alone until `join`, since the handle keeps the slot.
    let code =
        unsafe { libc::pthread_create(id.as_mut_ptr(), attributes.0, run::<F, T>, body.cast()) };
    if let Err(e) = check(code) {
        // SAFETY: no thread was created, so the box is still this function's.
        drop(unsafe { Box::from_raw(body) });
        return Err(e);
    }
    Ok(Handle {
        // SAFETY: a call that returns 0 has written it.
        id: unsafe { id.assume_init() },
        slot: ManuallyDrop::new(slot),
        result: PhantomData,
    })
}

/// The first function of a thread: runs the body, and returns a box with what came of it.
extern "C" fn run<F, T>(body: *mut c_void) -> *mut c_void
where
    F: FnOnce() -> T,
{
    // SAFETY: `create` has passed a box of this type, which it has given up.
    let body = unsafe { Box::from_raw(body.cast::<F>()) };
    let result: thread::Result<T> = panic::catch_unwind(AssertUnwindSafe(*body));
    Box::into_raw(Box::new(result)).cast()
}

impl<T> Handle<T> {
    /// Awaits the thread and returns what its body returned or panicked with.
    pub(crate) fn join(self) -> thread::Result<T> {
        let mut result = ptr::null_mut();
        // SAFETY: the handle is consumed, so that the thread is joined once.
        let code = unsafe { libc::pthread_join(self.id, &raw mut result) };
        // Only a thread that joins itself or was joined before is an error, as in std.
        check(code).expect("a thread that was created can be joined");
        // SAFETY: `run` returned a box of this type, and nobody else has seen the pointer.
        let result = unsafe { Box::from_raw(result.cast::<thread::Result<T>>()) };
        drop(ManuallyDrop::into_inner(self.slot));
        *result
    }
}

/// Attributes that name a stack, made in place: nothing promises that they may be moved.
struct Attributes<'a>(&'a mut libc::pthread_attr_t);

impl<'a> Attributes<'a> {
    fn new(place: &'a mut MaybeUninit<libc::pthread_attr_t>, slot: &Slot) -> io::Result<Self> {
        // SAFETY: the call initialises what it is given.
        check(unsafe { libc::pthread_attr_init(place.as_mut_ptr()) })?;
        // SAFETY: it is initialised now.
        let attributes = Attributes(unsafe { place.assume_init_mut() });
        let attr = &raw mut *attributes.0;
        // SAFETY: the attributes are initialised, and all of the memory is this slot's.
        check(unsafe { libc::pthread_attr_setstack(attr, slot.lowest(), slot.size()) })?;
        Ok(attributes)
    }
}

impl Drop for Attributes<'_> {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`, and not used after this.
        unsafe { libc::pthread_attr_destroy(self.0) };
    }
}

/// An error number as an error.
fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}
