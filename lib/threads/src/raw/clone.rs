//! The system call that creates a thread, and the instructions that the thread runs.

#![expect(unsafe_code, reason = "a system call returns in two threads")]

use std::io;

use nix::errno::Errno;

/// The system call that creates a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneCall {
    /// clone3(2), since Linux 5.3.
    Clone3,
    /// clone(2), where a kernel or a sandbox has no clone3.
    Clone,
}

/// A thread to be created.
pub(super) struct CloneRequest {
    /// Lowest address of its stack.
    pub(super) stack: u64,
    /// Size of the stack in bytes.
    pub(super) stack_size: u64,
    /// Address of its [`super::Shared`].
    pub(super) shared: u64,
    /// Number that it writes down.
    pub(super) number: u64,
    /// Number and first argument of the system call that it makes, if any.
    pub(super) action: Option<(libc::c_long, i32)>,
}

/// Flags that make the new task a thread of this process, and have the kernel clear a word at its end.
const FLAGS: u64 = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_CHILD_CLEARTID) as u64;

/// `struct clone_args` of include/uapi/linux/sched.h, as Linux 5.3 has it.
#[repr(C, align(8))]
#[derive(Default)]
struct Arguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

impl CloneCall {
    /// The call to try first.
    ///
    /// # Errors
    /// `Unsupported` on other processors than x86-64 and AArch64.
    pub(super) fn first() -> io::Result<Self> {
        match cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            true => Ok(CloneCall::Clone3),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Name with the section of the manual.
    pub fn name(self) -> &'static str {
        match self {
            CloneCall::Clone3 => "clone3(2)",
            CloneCall::Clone => "clone(2)",
        }
    }

    /// Creates a thread; changes to the older call for good where the newer one is refused.
    ///
    /// # Safety
    /// Nothing else uses the stack and the shared memory until the kernel has cleared the word in it, and
    /// both stay where they are until then.
    pub(super) unsafe fn make(&mut self, request: &CloneRequest) -> io::Result<()> {
        if *self == CloneCall::Clone3 {
            // SAFETY: as promised by the caller.
            match unsafe { clone3(request) } {
                // Seccomp filters of containers refuse calls that they do not know.
                Err(Errno::ENOSYS | Errno::EPERM) => *self = CloneCall::Clone,
                made => return Ok(made?),
            }
        }
        // SAFETY: as above.
        Ok(unsafe { clone(request) }?)
    }
}

/// # Safety
/// As [`CloneCall::make`].
unsafe fn clone3(request: &CloneRequest) -> nix::Result<()> {
    let arguments = Arguments {
        flags: FLAGS,
        child_tid: request.shared,
        stack: request.stack,
        stack_size: request.stack_size,
        ..Arguments::default()
    };
    let address = (&raw const arguments).addr() as u64;
    let size = size_of::<Arguments>() as u64;
    // SAFETY: the arguments outlive the call, and the rest is as promised by the caller.
    unsafe { begin(libc::SYS_clone3, [address, size, 0, 0, 0], request) }
}

/// # Safety
/// As [`CloneCall::make`].
unsafe fn clone(request: &CloneRequest) -> nix::Result<()> {
    let top = request.stack + request.stack_size;
    // CONFIG_CLONE_BACKWARDS: the word and the thread-local storage are swapped.
    let arguments = match cfg!(target_arch = "aarch64") {
        true => [FLAGS, top, 0, 0, request.shared],
        false => [FLAGS, top, 0, request.shared, 0],
    };
    // SAFETY: as promised by the caller.
    unsafe { begin(libc::SYS_clone, arguments, request) }
}

/// Makes the system call. In the new thread it returns to instructions that write the number down, make
/// the thread's own system call and end the thread; this function returns in the creator alone.
///
/// # Safety
/// The call creates a thread as [`FLAGS`] say, of what the request has.
#[cfg(target_arch = "x86_64")]
unsafe fn begin(
    call: libc::c_long,
    arguments: [u64; 5],
    request: &CloneRequest,
) -> nix::Result<()> {
    let (action, argument) = request.action.unwrap_or((-1, 0));
    let result: i64;
    // SAFETY: as promised by the caller. The thread begins with the registers of its creator, writes
    // to nothing but its shared memory, and leaves by exit(2) without a use of its stack.
    unsafe {
        core::arch::asm!(
            "syscall",
            "test rax, rax",
            "jne 2f",
            "mov dword ptr [r12 + {counted}], r13d",
            "test r14, r14",
            "js 3f",
            "mov rax, r14",
            "mov rdi, r15",
            "lea rsi, [r12 + {result}]",
            "mov edx, 1",
            "syscall",
            "3:",
            "xor edi, edi",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "2:",
            counted = const std::mem::offset_of!(super::Shared, counted),
            result = const std::mem::offset_of!(super::Shared, result),
            exit = const libc::SYS_exit,
            inlateout("rax") call => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r12") request.shared,
            in("r13") request.number,
            in("r14") action,
            in("r15") i64::from(argument),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    outcome(result)
}

/// Makes the system call. In the new thread it returns to instructions that write the number down, make
/// the thread's own system call and end the thread; this function returns in the creator alone.
///
/// # Safety
/// The call creates a thread as [`FLAGS`] say, of what the request has.
#[cfg(target_arch = "aarch64")]
unsafe fn begin(
    call: libc::c_long,
    arguments: [u64; 5],
    request: &CloneRequest,
) -> nix::Result<()> {
    let (action, argument) = request.action.unwrap_or((-1, 0));
    let result: i64;
    // SAFETY: as promised by the caller. The thread begins with the registers of its creator, writes
    // to nothing but its shared memory, and leaves by exit(2) without a use of its stack.
    unsafe {
        core::arch::asm!(
            "svc #0",
            "cbnz x0, 2f",
            "str w21, [x20, #{counted}]",
            "tbnz x22, #63, 3f",
            "mov x8, x22",
            "mov x0, x23",
            "add x1, x20, #{result}",
            "mov x2, #1",
            "svc #0",
            "3:",
            "mov x0, #0",
            "mov x8, #{exit}",
            "svc #0",
            "brk #1",
            "2:",
            counted = const std::mem::offset_of!(super::Shared, counted),
            result = const std::mem::offset_of!(super::Shared, result),
            exit = const libc::SYS_exit,
            inlateout("x0") arguments[0] => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x8") call,
            in("x20") request.shared,
            in("x21") request.number,
            in("x22") action,
            in("x23") i64::from(argument),
            options(nostack),
        );
    }
    outcome(result)
}

/// # Safety
/// None is needed: there is no such call.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn begin(_: libc::c_long, _: [u64; 5], _: &Order) -> nix::Result<()> {
    outcome(-i64::from(libc::ENOSYS))
}

/// Result of a call: the kernel returns a thread's id, or the negative number of an error.
fn outcome(result: i64) -> nix::Result<()> {
    match i32::try_from(-result) {
        Ok(errno) if errno > 0 => Err(Errno::from_raw(errno)),
        _ => Ok(()),
    }
}
