//! A filter of system calls like the one that container engines install by default.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use anyhow::Context;
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// A compiled filter.
pub(crate) type Filter = BpfProgram;

/// System calls that Docker's default profile refuses to a container without further rights, of those that
/// each architecture has (the table in docs.docker.com/engine/security/seccomp, and io_uring since 2023).
const REFUSED: [c_long; 44] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    // glibc takes clone(2) instead.
    libc::SYS_clone3,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Largest number of a system call that the filter lets through (futex_waitv(2) and what is older), and the
/// numbers that no architecture has.
const LAST: c_long = 449;
const NONE: Range<c_long> = 335..424;

/// Flags of clone(2) that make namespaces.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Compiles the filter. It allows a list of numbers; anything else is not implemented (ENOSYS), where Docker's
/// mostly is not permitted (EPERM).
///
/// # Errors
/// On an architecture whose numbers are not known.
pub(crate) fn docker() -> anyhow::Result<Filter> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .context("seccomp=docker: it is known on x86_64 and aarch64")?;
    let is_allowed = |number: &c_long| !NONE.contains(number) && !REFUSED.contains(number);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        (0..=LAST).filter(is_allowed).map(|number| (number, Vec::new())).collect();
    let none = SeccompCmpOp::MaskedEq(NAMESPACES);
    let no_namespace = SeccompCondition::new(0, SeccompCmpArgLen::Qword, none, 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![no_namespace])?]);
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?;
    Ok(filter.try_into()?)
}

/// Installs a filter in the calling thread, for good: system calls alone.
pub(crate) fn apply(filter: &Filter) -> io::Result<()> {
    seccompiler::apply_filter(filter).map_err(|e| match e {
        seccompiler::Error::Prctl(e) | seccompiler::Error::Seccomp(e) => e,
        _ => io::ErrorKind::InvalidInput.into(),
    })
}
