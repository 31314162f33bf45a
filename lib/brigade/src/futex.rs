//! Sleep on a word of memory, and the kernel's table of sleepers.
//!
//! The kernel finds the threads that sleep on a word by a hash of its address. A wake-up walks past every thread in the
//! same slot that fell asleep earlier, or past all of them if nobody waits on the word (`futex_wake`,
//! kernel/futex/waitwake.c). Since Linux 6.17 (CONFIG_FUTEX_PRIVATE_HASH) a process with threads has a table of its own
//! for private futexes, with four slots per thread, up to the number of CPUs, but at least 16
//! (`futex_hash_allocate_default`, kernel/futex/core.c). Everything else is in the system-wide table, which has 256 slots
//! per CPU: shared futexes, joins of threads, and every futex on older kernels.

#![expect(unsafe_code, reason = "futex(2) and prctl(2) have no safe wrappers")]

use std::io;
use std::ptr;
use std::sync::atomic::AtomicU32;

use contract::BadUsage;

/// `PR_FUTEX_HASH` and its operations, from include/uapi/linux/prctl.h.
const PR_FUTEX_HASH: libc::c_int = 78;
const SET_SLOTS: libc::c_ulong = 1;
const GET_SLOTS: libc::c_ulong = 2;

/// Size of the table of sleepers.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct FutexFlags {
    /// Slots in this process's own table of threads that sleep in futex(2): a power of two, or 0 to use the
    /// system-wide table [default: the kernel's choice; from Linux 6.17 on, four slots per CPU but at least 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = slots, help_heading = "Advanced")]
    pub futex_slots: Option<u32>,
}

fn slots(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(slots) if slots == 0 || (slots >= 2 && slots.is_power_of_two()) => Ok(slots),
        _ => Err("write 0 or a power of two, such as 16".to_owned()),
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
            "--futex-slots {slots}: {error}: lower it, or drop it; the setting needs Linux 6.17 or later (CONFIG_FUTEX_PRIVATE_HASH)"
        )))
    }
}

/// Flags of a private word for futex_wait(2) and io_uring: FUTEX2_SIZE_U32 and FUTEX2_PRIVATE, from
/// include/uapi/linux/futex.h.
pub const PRIVATE_WORD: u32 = 2 | 128;

/// Puts the calling thread to sleep if the word still is `expected`. It may return spuriously.
pub fn wait(word: &AtomicU32, expected: u32) {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let no_timeout = ptr::null::<libc::timespec>();
    // SAFETY: the kernel only reads the word, which outlives the call. Whatever the call returns, the
    // caller looks at the word again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, no_timeout) };
}

/// Wakes one thread that sleeps on the word, if one does, and returns the number woken.
pub fn wake(word: &AtomicU32) -> libc::c_long {
    wake_most(word, 1)
}

/// Wakes all threads that sleep on the word, and returns their number.
pub fn wake_all(word: &AtomicU32) -> libc::c_long {
    wake_most(word, libc::c_int::MAX)
}

fn wake_most(word: &AtomicU32, sleepers: libc::c_int) -> libc::c_long {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel touches no memory but the word's, and that not for writing.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, sleepers) }
}

/// Slots of this process's own table: 0 if it has none, less if the kernel has no such tables.
fn own_slots() -> libc::c_int {
    // SAFETY: a question; no memory of this process is involved.
    unsafe { libc::prctl(PR_FUTEX_HASH, GET_SLOTS, 0, 0, 0) }
}

/// True if the kernel knows tables of processes; Linux 6.16 does, and has none.
pub fn has_own_tables() -> bool {
    own_slots() >= 0
}

/// Slots of the table that has this process's sleepers; `None` if that cannot be found out.
pub fn table_slots() -> Option<u64> {
    let slots = own_slots();
    if slots > 0 {
        return slots.try_into().ok();
    }
    // 256 for each CPU that there may be (`futex_init`, kernel/futex/core.c), in all memory nodes.
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
    let last: u64 = possible.trim().rsplit(['-', ',']).next()?.parse().ok()?;
    Some((256 * (last + 1)).next_power_of_two())
}
