//! A filter of system calls: the one that Docker installs by default.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use anyhow::Context;
use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// A compiled filter.
pub(crate) type Filter = BpfProgram;

/// System calls that the profile (`seccomp/default.json` of github.com/moby/profiles, tag seccomp/v0.2.3) refuses
/// to a container without added capabilities, of those that each architecture has.
const REFUSED: [c_long; 51] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_get_mempolicy,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_set_mempolicy,
    libc::SYS_set_mempolicy_home_node,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Those that x86_64 alone has, as far as kernels still know them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: [c_long; 5] =
    [libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_sysfs, libc::SYS_uselib, libc::SYS_ustat];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: [c_long; 0] = [];

/// Calls of security modules, which it refuses and libc does not name yet.
const MODULES: Range<c_long> = 459..462;

/// Largest number of a system call that it names, removexattrat(2), and the numbers that no architecture has.
const LAST: c_long = 466;
const NONE: Range<c_long> = 336..424;

/// Flags of clone(2) that make namespaces.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Values of personality(2) that it allows: Linux, with 16-bit ids or short release names, and the question
/// which one it is.
const PERSONALITIES: [u64; 5] = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

/// Families of sockets that it refuses.
const SOCKETS: [c_int; 2] = [libc::AF_ALG, libc::AF_VSOCK];

/// Compiles the filter. What it does not allow is not permitted (EPERM). A call that is newer than the profile is
/// not implemented (ENOSYS), as runc adds, and so is clone3(2), for which glibc takes clone(2) instead.
///
/// # Errors
/// On an architecture whose numbers are not known.
pub(crate) fn docker() -> anyhow::Result<Filter> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .context("seccomp=docker: the filter is only known for x86_64 and aarch64")?;
    let is_allowed = |number: &c_long| {
        !NONE.contains(number)
            && !MODULES.contains(number)
            && !REFUSED.contains(number)
            && !REFUSED_HERE.contains(number)
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        (0..=LAST).filter(is_allowed).map(|number| (number, Vec::new())).collect();
    let first = |op, value| SeccompCondition::new(0, SeccompCmpArgLen::Qword, op, value);
    let no_namespace = first(SeccompCmpOp::MaskedEq(NAMESPACES), 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![no_namespace])?]);
    let families = SOCKETS.map(|family| first(SeccompCmpOp::Ne, family as u64));
    let families = families.into_iter().collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(families)?]);
    let personality = |value| SeccompRule::new(vec![first(SeccompCmpOp::Eq, value)?]);
    let personalities = PERSONALITIES.into_iter().map(personality).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_personality, personalities);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?;
    let allowed: Filter = filter.try_into()?;
    Ok(unknown_calls().into_iter().chain(allowed).collect())
}

/// Instructions that come first. A filter of their own would be run for each call as well.
fn unknown_calls() -> [sock_filter; 4] {
    let code = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let jump = libc::BPF_JMP | libc::BPF_K;
    [
        // The number of the call.
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        code(jump | libc::BPF_JEQ, 1, 0, libc::SYS_clone3 as u32),
        code(jump | libc::BPF_JGT, 0, 1, LAST as u32),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ]
}

/// Installs a filter in the calling thread, for good: system calls alone.
pub(crate) fn apply(filter: &Filter) -> io::Result<()> {
    seccompiler::apply_filter(filter).map_err(|e| match e {
        seccompiler::Error::Prctl(e) | seccompiler::Error::Seccomp(e) => e,
        _ => io::ErrorKind::InvalidInput.into(),
    })
}

#[cfg(test)]
#[expect(unsafe_code, reason = "system calls by their number, with arguments that write nothing")]
mod tests {
    use std::thread;

    use nix::errno::Errno;

    use super::*;

    #[test]
    fn it_answers_as_the_profile_does() {
        let Ok(filter) = docker() else { return };
        let call = |number: c_long, first: u64| {
            // SAFETY: each call below only looks at its first argument, or at null pointers that it refuses.
            let result = unsafe { libc::syscall(number, first, 0_u64, 0_u64, 0_u64, 0_u64, 0_u64) };
            if result < 0 { Err(Errno::last()) } else { Ok(()) }
        };
        // A filter is its thread's for good.
        let calls = thread::spawn(move || {
            apply(&filter).unwrap();
            for (number, first, expected) in [
                (libc::SYS_getpid, 0, Ok(())),
                (libc::SYS_process_vm_readv, u64::from(std::process::id()), Ok(())),
                (libc::SYS_clock_adjtime, 0, Err(Errno::EFAULT)),
                (libc::SYS_personality, 0xffff_ffff, Ok(())),
                (libc::SYS_personality, 0x4_0000, Err(Errno::EPERM)),
                (libc::SYS_socket, libc::AF_VSOCK as u64, Err(Errno::EPERM)),
                (libc::SYS_socket, libc::AF_ALG as u64, Err(Errno::EPERM)),
                (libc::SYS_socket, 9999, Err(Errno::EAFNOSUPPORT)),
                (libc::SYS_unshare, 0, Err(Errno::EPERM)),
                (libc::SYS_clone, libc::CLONE_NEWUSER as u64, Err(Errno::EPERM)),
                (libc::SYS_syslog, 10, Err(Errno::EPERM)),
                (libc::SYS_io_uring_setup, 0, Err(Errno::EPERM)),
                (libc::SYS_get_mempolicy, 0, Err(Errno::EPERM)),
                (MODULES.start, 0, Err(Errno::EPERM)),
                (libc::SYS_clone3, 0, Err(Errno::ENOSYS)),
                (LAST + 1, 0, Err(Errno::ENOSYS)),
            ] {
                assert_eq!(call(number, first), expected, "{number} of {first:#x}");
            }
        });
        calls.join().unwrap();
    }
}
