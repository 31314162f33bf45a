//! Sleep on a word of memory, and the kernel's table of sleepers.
//!
//! The kernel finds the sleepers of a word by a hash of its address. Each wake-up, each sleep and each
//! end of a thread that is joined searches all sleepers in the same slot of the table (`futex_wake`,
//! kernel/futex/waitwake.c), so many sleeping threads slow each other down. Since Linux 6.16 a process
//! with threads has a table of its own, with four slots for each CPU that its threads may use, and 16 at
//! least (`futex_hash_allocate_default`, kernel/futex/core.c). Before, all processes share one table of
//! 256 slots for each CPU.

#![expect(unsafe_code, reason = "futex(2) and prctl(2) have no safe wrappers")]

use std::io;
use std::ptr;
use std::sync::atomic::AtomicU32;

use contract::BadUsage;

/// `PR_FUTEX_HASH` and its operation, from include/uapi/linux/prctl.h.
const PR_FUTEX_HASH: libc::c_int = 78;
const SET_SLOTS: libc::c_ulong = 1;

/// Flag of the table of sleepers.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct FutexFlags {
    /// Slots of this process's table of threads that sleep in futex(2): a power of two, or 0 for the
    /// table of the whole system [default: the kernel's, from Linux 6.16 on four for each CPU and 16 at
    /// least]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = slots, help_heading = "Advanced")]
    pub futex_slots: Option<u32>,
}

fn slots(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(slots) if slots == 0 || (slots >= 2 && slots.is_power_of_two()) => Ok(slots),
        _ => Err("write 0, or a power of two from 2 on".to_owned()),
    }
}

impl FutexFlags {
    /// Sets the size of the table. Call it before there are threads.
    pub fn set(self) -> anyhow::Result<()> {
        let Some(slots) = self.futex_slots else {
            return Ok(());
        };
        // SAFETY: a setting of this process; no memory of it is involved.
        let code =
            unsafe { libc::prctl(PR_FUTEX_HASH, SET_SLOTS, libc::c_ulong::from(slots), 0, 0) };
        if code == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        Err(BadUsage::new(format!(
            "--futex-slots {slots}: {error}: lower it, or drop it: Linux 6.16 and later have this setting"
        )))
    }
}

/// Puts the calling thread to sleep if the word still is `expected`. It may return without a reason.
pub fn wait(word: &AtomicU32, expected: u32) {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let no_timeout = ptr::null::<libc::timespec>();
    // SAFETY: the kernel only reads the word, which outlives the call. Whatever the call returns, the
    // caller looks at the word again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, no_timeout) };
}

/// Wakes one thread that sleeps on the word, if one does.
pub fn wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    let sleepers = 1;
    // SAFETY: the address is only a name here, and no memory is touched.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, sleepers) };
}
