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
    ("same socket", "on one processor chip; between two, a cache line takes longest"),
    ("another socket", "on another processor chip, to which a cache line takes longest"),
    ("SCHED_BATCH", "a policy under which who is woken does not preempt who runs"),
    ("p99", "99 of 100 are no later"),
    ("--load", "work that arrives, in per cent of the CPUs that serve it"),
    ("efficiency", "the rate per CPU, divided by that of one chain alone"),
    ("goroutine", "Go's task, scheduled by Go's runtime on its threads"),
    ("yardstick", "work that depends on the machine alone; if it moves, the machine did"),
];

/// The terms of some text with their meaning: whole words, the last one perhaps in the plural.
pub(super) fn of(text: &str) -> Vec<(&'static str, &'static str)> {
    let is_gap = |c: char| !c.is_alphanumeric() && !"-_.".contains(c);
    let words: Vec<String> = text.split(is_gap).map(str::to_lowercase).collect();
    let text = format!(" {} ", words.join(" "));
    let has = |term: &str| {
        let term = term.to_lowercase();
        ["", "s", "es", "ed"].iter().any(|ending| text.contains(&format!(" {term}{ending} ")))
    };
    TERMS.iter().filter(|(term, _)| has(term)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_found_as_a_whole_word_of_its_own_meaning() {
        for (text, terms) in [
            ("Over socket pairs: time per hop", "hop"),
            ("Memory of a task at rest, with a socket pair", "at rest"),
            ("async task over <b>\"sockets\"</b> & co", ""),
            ("another cache, same socket", "same socket"),
            ("SMT sibling another socket", "SMT sibling|another socket"),
            ("Hops of goroutines over futexes", "hop|futex|goroutine"),
            ("a workshop, spawn_blocking, hop-rate, p99.9", ""),
            ("Tokio, spawned by a task, p99", "spawn|p99"),
            ("pinned to one CPU", "one CPU"),
            ("--load unpinned", "unpinned|--load"),
            ("--unload", ""),
        ] {
            let found: Vec<&str> = of(text).into_iter().map(|(term, _)| term).collect();
            assert_eq!(found.join("|"), terms, "{text}");
        }
    }
}
