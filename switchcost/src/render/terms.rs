//! Terms of the field, explained where they stand.

/// Terms as titles, headings and names spell them, and what each is.
const TERMS: &[(&str, &str)] = &[
    ("hop", "a task hands a token to the next one"),
    ("unpinned", "the kernel chooses the CPUs"),
    ("one CPU", "all tasks share one CPU, so nobody is woken on another"),
    ("futex", "a word in memory on which the kernel lets a thread sleep and wakes it"),
    ("channel", "a queue in memory by which tasks hand over messages"),
    ("io_uring", "queues by which a program submits system calls in batches"),
    (
        "minimal executor",
        "some 200 lines that poll tasks on one thread: the least that a runtime must do",
    ),
    ("at rest", "all tasks wait; a size is the slope of memory over their number"),
    ("spawn", "to create a task or a thread"),
    ("boxed future", "a task's state on the heap, polled in place and never handed to a runtime"),
    ("SMT sibling", "two CPUs that share one core"),
    ("socket", "one processor chip; between two, a cache line takes longest"),
    ("SCHED_BATCH", "a policy under which who is woken does not preempt who runs"),
    ("p99", "99 of 100 are no later"),
    ("--load", "work that arrives, in per cent of the CPUs that serve it"),
    ("efficiency", "the rate per CPU, divided by that of one chain alone"),
    ("goroutine", "Go's task, scheduled by Go's runtime on its threads"),
    ("yardstick", "work that depends on the machine alone; if it moves, the machine did"),
];

/// The terms of some text with their meaning.
pub(super) fn of(text: &str) -> Vec<(&'static str, &'static str)> {
    let text = text.to_lowercase();
    let is_in = |term: &str| text.contains(&term.to_lowercase());
    TERMS.iter().filter(|(term, _)| is_in(term)).copied().collect()
}
