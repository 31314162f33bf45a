//! What programs leave running when they end: a process that has left its group is not killed with it.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use host::strays;

/// Children that this process had before its first program: they stay. Not set in a process that starts others
/// besides, such as a test.
static OTHERS: OnceLock<BTreeSet<i32>> = OnceLock::new();

/// Programs that are alive.
static ALIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// From now on, ends what programs leave running when they end. All other children of this process must be programs
/// that it measures, or tools that it waits for.
pub(crate) fn end_what_is_left() {
    let children = strays::children().unwrap_or_default();
    let _ = OTHERS.set(children.into_iter().map(|child| child.pid).collect());
}

/// Before a program starts. Not before: a tool that builds programs may leave a server running for the next
/// build, which stays.
pub(super) fn prepare() -> nix::Result<()> {
    if OTHERS.get().is_some() { strays::adopt() } else { Ok(()) }
}

/// Notes that a program is alive.
pub(super) fn note_start(program: i32) {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner).insert(program);
}

/// Ends what a program that has ended left running; returns the names of what had left its group. This may also end a
/// process of another live program: its origin cannot be told once its parent has ended.
pub(super) fn end_what_is_left_of(program: i32) -> io::Result<Option<String>> {
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    alive.remove(&program);
    let Some(others) = OTHERS.get() else { return Ok(None) };
    let mut left = strays::end(|child| {
        let is_alive = alive.contains(&child.pid) || alive.contains(&child.group);
        !is_alive && !others.contains(&child.pid)
    })?;
    left.retain(|child| child.group != program);
    Ok((!left.is_empty()).then(|| strays::names(&left)))
}
