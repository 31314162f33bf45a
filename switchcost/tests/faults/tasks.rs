//! A task of a chain that ends in mid-run: the others end too, the cause is told, and what was
//! measured before is kept.

use super::chains;
use crate::support::benchmarks::{Benchmark, offering};
use crate::support::process::Run;

/// How a task ends, what is told of it besides its number, and whether it ran at all.
const ENDINGS: [(&str, &str, bool); 4] = [
    ("fail", "fails here, as --test-fault asks", true),
    (
        "panic",
        "ends here, as --test-fault asks (a panic at ",
        true,
    ),
    ("close", "ended after it had passed on 3 tokens: ", true),
    ("absent", "fails here, as --test-fault asks", false),
];

/// The first, one in the middle, and the last of five tasks.
const TASKS: [u32; 3] = [0, 2, 4];

fn faulty(benchmark: &Benchmark, fault: &str) -> Run {
    let size = "--tasks 5 --iters 100000 --warmups 0 --test-fault";
    benchmark.run(size).arg(fault)
}

#[test]
fn a_task_that_ends_in_mid_run_is_the_error_and_the_samples_are_kept() {
    for benchmark in chains() {
        for (ending, words, ran) in ENDINGS {
            for task in TASKS {
                let run = faulty(benchmark, &format!("{ending}@{task}"));
                let run = run.start().finish_all().expect(1);
                let told = format!("{}: task {task}", benchmark.name);
                assert!(run.stderr.starts_with(&told), "{run}");
                let run = run.expect_complaint(&[words]);
                assert_eq!(run.stderr.lines().count(), 1, "{run}");
                match ran {
                    true => assert!(
                        run.stdout.starts_with("partial: 3 of 100000 iterations\n"),
                        "{run}"
                    ),
                    false => assert!(run.stdout.is_empty(), "{run}"),
                }
            }
        }
    }
}

#[test]
fn its_record_is_partial_and_has_the_error() {
    for benchmark in chains() {
        for (ending, words, ran) in ENDINGS {
            let run = faulty(benchmark, &format!("{ending}@2")).flags("--format json");
            let run = run.start().finish_all().expect(1);
            let record = run.record();
            let error = record.error.unwrap();
            assert!(
                error.starts_with("task 2") && error.contains(words),
                "{run}"
            );
            assert!(record.partial, "{run}");
            let count = record.samples.map(|samples| samples.count);
            assert_eq!(count, ran.then_some(3), "{run}");
            assert_eq!(record.params["test_fault"], format!("{ending}@2"));
            let rested = record.memory.and_then(|memory| memory.at_rest);
            assert!(rested.is_none(), "nothing was at rest: {run}");
        }
    }
}

#[test]
fn with_more_tokens_or_other_links_it_is_no_different() {
    for benchmark in chains() {
        for variant in benchmark.transports_on_executors() {
            let flags = format!("--tokens 4 {variant} --format json");
            for (ending, words, _) in ENDINGS {
                for task in TASKS {
                    let run = faulty(benchmark, &format!("{ending}@{task}")).flags(&flags);
                    let run = run.start().finish_all().expect(1);
                    run.expect_complaint(&[&format!("task {task}"), words]);
                }
            }
        }
    }
}

/// The first task of a stream feeds the others: its tokens are counted and checked as all are.
#[test]
fn in_a_stream_it_is_no_different() {
    for benchmark in chains().filter(|benchmark| benchmark.has("--feed")) {
        let stream = "--feed first-task --tokens 50";
        for task in [0, 2] {
            for (ending, words, _) in ENDINGS {
                let run = faulty(benchmark, &format!("{ending}@{task}")).flags(stream);
                let run = run.start().finish_all().expect(1);
                run.expect_complaint(&[&format!("task {task}"), words]);
            }
            for bytes in ["1", "300"] {
                let run = faulty(benchmark, &format!("corrupt@{task}")).flags(stream);
                let run = run.flags(&format!("--bytes {bytes}")).start();
                run.finish_all().expect(1).expect_complaint(&["token 3"]);
            }
        }
    }
}

/// Nothing but its own tasks can wake a task of the executor that hears no other thread.
#[test]
fn a_chain_that_nobody_can_wake_any_more_is_an_error() {
    for benchmark in offering("--executor", "one-page") {
        for variant in benchmark.transports_on_executors() {
            if variant.contains("one-page") {
                let run = faulty(benchmark, "hang@2").flags(&variant);
                let run = run.start().finish_all().expect(1);
                run.expect_complaint(&["task 2", "waits for ever"]);
            }
        }
    }
}

#[test]
fn tasks_are_told_by_their_place_whatever_the_order_of_their_creation() {
    for benchmark in chains().filter(|benchmark| benchmark.has("--shuffle")) {
        for transport in benchmark.transports() {
            for (ending, words, ran) in ENDINGS {
                let run = faulty(benchmark, &format!("{ending}@3"));
                let run = run.flags("--shuffle 5 --touch 64").flags(&transport);
                let run = run.start().finish_all().expect(1);
                let run = run.expect_complaint(&["task 3", words]);
                let kept = run.stdout.starts_with("partial: 3 of 100000 iterations\n");
                assert_eq!(kept, ran, "{run}");
            }
        }
    }
}

/// The last byte is the number where there is no other.
#[test]
fn a_byte_that_is_wrong_is_noticed() {
    for benchmark in chains().filter(|benchmark| benchmark.has("--bytes")) {
        for bytes in [1, 2, 9, 4096, 100_000] {
            for task in TASKS {
                let run = faulty(benchmark, &format!("corrupt@{task}"));
                let run = run.flags(&format!("--bytes {bytes} --format json"));
                let run = run.start().finish_all().expect(1);
                let run = run.expect_complaint(&["token 0 came out as", "expected"]);
                assert_eq!(run.stderr.contains("byte "), bytes > 1, "{run}");
                let count = run.record().samples.map(|samples| samples.count);
                assert_eq!(count, Some(4), "it is found in the fourth: {run}");
            }
        }
    }
}

#[test]
fn tokens_of_several_bytes_end_as_those_of_one() {
    for benchmark in chains().filter(|benchmark| benchmark.has("--bytes")) {
        for (ending, words, _) in ENDINGS {
            for task in TASKS {
                let run = faulty(benchmark, &format!("{ending}@{task}"));
                let run = run.flags("--bytes 5000").start().finish_all().expect(1);
                run.expect_complaint(&[&format!("task {task}"), words]);
            }
        }
    }
}

#[test]
fn a_command_is_not_run_where_tasks_are_gone() {
    for benchmark in chains() {
        let run = faulty(benchmark, "fail@2")
            .arg("--command")
            .arg("echo here");
        let run = run.finish().expect(1);
        assert!(!run.stdout.contains("here"), "{run}");
    }
}

#[test]
fn a_task_that_is_not_there_cannot_end() {
    for benchmark in chains() {
        for fault in ["fail@5", "panic@-1", "vanish@2", "close"] {
            faulty(benchmark, fault)
                .finish()
                .expect_refusal(2, &["--test-fault", fault]);
        }
    }
}
