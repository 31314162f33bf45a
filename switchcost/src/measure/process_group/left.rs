//! What programs leave running when they end: a process that has left its group is not killed with it.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use contract::strays;
use nix::unistd::getpgrp;

/// True if all children of this process are programs that it measures, or tools that it waits for.
static IS_RUNNER: AtomicBool = AtomicBool::new(false);

/// Groups of the programs that are alive.
static ALIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Has what is left running ended with each program. A process with other children must not ask for it: they
/// would end as well.
pub(crate) fn end_what_is_left() {
    IS_RUNNER.store(true, Ordering::Relaxed);
}

/// Before a program starts. Not before: a tool that builds programs may leave a server running for the next
/// build, which is nobody's business here.
pub(super) fn prepare() -> nix::Result<()> {
    if IS_RUNNER.load(Ordering::Relaxed) { strays::adopt() } else { Ok(()) }
}

/// Notes that a group is alive.
pub(super) fn started(group: i32) {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner).insert(group);
}

/// Ends what a group has left running, once its program has ended; names of what had left the group. It may be
/// of another one that is still alive: whose it was cannot be told once its parent has ended.
pub(super) fn ended(group: i32) -> io::Result<Option<String>> {
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    alive.remove(&group);
    if !IS_RUNNER.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let own = getpgrp().as_raw();
    let mut left = strays::end(|child| child.group != own && !alive.contains(&child.group))?;
    left.retain(|child| child.group != group);
    Ok((!left.is_empty()).then(|| strays::names(&left)))
}
