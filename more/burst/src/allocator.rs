//! The allocator of the process: the C library's, or one that the dynamic linker puts in its place, as LD_PRELOAD does
//! with any program that is linked dynamically.

#![expect(unsafe_code, reason = "the dynamic linker and the allocators are C")]

use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::mem::transmute;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;

use anyhow::{Context, Result, bail, ensure};

/// Allocators by the word of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Allocator {
    Glibc,
    /// As by MALLOC_ARENA_MAX=2.
    Glibc2Arenas,
    /// A library, by the name under which the dynamic linker finds it.
    Library(String),
}

/// Variable that names the libraries to be loaded before all others.
const PRELOAD: &str = "LD_PRELOAD";

impl Allocator {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "glibc" => Ok(Allocator::Glibc),
            "glibc-2-arenas" => Ok(Allocator::Glibc2Arenas),
            // The linker would take several names.
            library if library.contains(".so") && !library.contains([' ', ':']) => {
                Ok(Allocator::Library(library.to_owned()))
            }
            _ => {
                Err("write glibc, glibc-2-arenas, or a library such as libjemalloc.so.2".to_owned())
            }
        }
    }

    /// Makes it the allocator of this process. A library needs a new start.
    pub(crate) fn choose(&self) -> Result<()> {
        match self {
            Allocator::Glibc => Ok(()),
            Allocator::Glibc2Arenas => {
                // SAFETY: a setting of this process, which has one thread.
                ensure!(unsafe { libc::mallopt(libc::M_ARENA_MAX, 2) } == 1, "mallopt has failed");
                Ok(())
            }
            Allocator::Library(library) => preload(library),
        }
    }

    /// Address space that it reserves before it is asked for anything: more than was seen.
    pub(crate) fn space(&self) -> u64 {
        match self {
            Allocator::Glibc | Allocator::Glibc2Arenas => 0,
            Allocator::Library(_) => 2 << 30,
        }
    }
}

/// Starts this program anew with the library, unless that has been done.
fn preload(library: &str) -> Result<()> {
    let file = library.rsplit('/').next().unwrap_or(library);
    if fs::read_to_string("/proc/self/maps")?.contains(&format!("/{file}")) {
        return Ok(());
    }
    if env::var_os(PRELOAD).is_some_and(|loaded| loaded == library) {
        bail!(
            "--allocator {library}: cannot load it: install it, and use a build that is not static"
        );
    }
    let mut itself = Command::new(env::current_exe().context("cannot find this program")?);
    itself.args(env::args_os().skip(1)).env(PRELOAD, library);
    Err(itself.exec()).context("cannot start anew with another allocator")
}

/// Asks the allocator to give back what it can.
pub(crate) fn trim() {
    if let Some(purge) = find(c"mallctl") {
        type Control = unsafe extern "C" fn(
            *const c_char,
            *mut c_void,
            *mut usize,
            *mut c_void,
            usize,
        ) -> c_int;
        // SAFETY: mallctl(3) has this type. The operation, on all arenas (MALLCTL_ARENAS_ALL), reads and writes no value.
        unsafe {
            let purge: Control = transmute(purge);
            purge(c"arena.4096.purge".as_ptr(), null_mut(), null_mut(), null_mut(), 0);
        }
    } else if let Some(collect) = find(c"mi_collect") {
        // SAFETY: mi_collect has this type, and only gives back pages that hold nothing.
        unsafe { transmute::<*mut c_void, unsafe extern "C" fn(bool)>(collect)(true) };
    } else {
        // SAFETY: it only gives back pages that hold nothing.
        unsafe { libc::malloc_trim(0) };
    }
}

/// A function of this process, or of a library that was there when it started.
fn find(symbol: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends in 0.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
    (!found.is_null()).then_some(found)
}
