//! Several chains in one process: what they describe, refuse and prove.

use contract::message::{Answer, Description};
use serde_json::from_str;

use super::promises::answers;
use crate::support::build;
use crate::support::process::Run;

/// Programs that have `--chains`, with flags that make them differ.
const PROGRAMS: [(&str, &str); 6] = [
    ("thread-brigade", ""),
    ("thread-mem-brigade", ""),
    ("async-brigade", "--flavor multi-thread"),
    ("async-brigade", "--flavor current-thread"),
    ("async-mem-brigade", "--flavor multi-thread"),
    ("async-mem-brigade", "--flavor current-thread"),
];

fn run(program: &str, flags: &str, more: &str) -> Run {
    Run::of(build().join(program)).flags(flags).flags(more)
}

#[test]
fn hops_are_those_of_all_chains() {
    for (program, flags) in PROGRAMS {
        let describe = |more: &str| -> Description {
            let run = run(program, flags, "--tasks 4 --tokens 2 --describe").flags(more);
            from_str(run.finish().expect(0).line()).unwrap()
        };
        let (one, all) = (describe(""), describe("--chains 3 --trips 5"));
        assert_eq!((one.hops, one.chains, one.trips), (Some(10), 1, 1), "{program}");
        assert_eq!((all.hops, all.chains, all.trips), (Some(150), 3, 5), "{program}");
        assert_eq!((all.tasks, all.tokens), (one.tasks, one.tokens), "{program}");
        let further = |needs: &Description| needs.needs.threads.of(4);
        // Threads of the tasks, and of the drivers.
        let tasks = if one.needs.threads.each == 0 { 0 } else { 8 };
        assert_eq!(further(&all), further(&one) + tasks + 2, "{program} {flags}");
    }
}

#[test]
fn a_fault_in_one_chain_is_found_and_named() {
    for (program, flags) in PROGRAMS {
        for (fault, words) in [
            ("fail", "chain 2: task 1: fails as --test-fault asks"),
            ("panic", "chain 2: task 1: ends as --test-fault asks (a panic"),
            ("absent", "chain 2: task 1: absent as --test-fault asks"),
            ("close", "chain 2: task 1 ended after it had passed on 3 tokens"),
            ("corrupt", "chain 2: token 3 came out as"),
        ] {
            let more = "--tasks 3 --chains 4 --trips 10 --warmup 0 --controlled";
            let run = run(program, flags, more).flags(&format!("--test-fault {fault}@7"));
            let outcome = run.input("run 50\n").start().finish_all().expect(1);
            let last = answers(&outcome.stdout).pop();
            let Some(Answer::Failed { error }) = last else { panic!("{outcome}") };
            assert!(error.contains(words), "{program} {flags}: {error}");
        }
    }
}

/// On one CPU a thread hands on by giving the CPU up, or by being preempted: each hop of each chain is a switch
/// that the kernel counted.
#[test]
fn hops_are_the_switches_that_the_kernel_counts() {
    for (program, flags) in &PROGRAMS[..2] {
        for chains in [1, 5] {
            let more =
                format!("--tasks 3 --trips 50 --chains {chains} --placement chain --controlled");
            let outcome = run(program, flags, &more).input("run 20\nend\n").start().finish_all();
            let all = answers(&outcome.stdout);
            let Some(Answer::Ran { samples_ns, usage: Some(usage), .. }) = all.get(1) else {
                panic!("{outcome}");
            };
            let hops = samples_ns.len() as u64 * 50 * chains * 4;
            let switches = usage.voluntary_switches + usage.involuntary_switches;
            assert!(switches >= hops * 9 / 10, "{program}: {switches} switches in {hops} hops");
            // A thread waits at most once for each of its hops, and once for each start.
            let most = hops + samples_ns.len() as u64 * 4 * chains;
            assert!(usage.voluntary_switches <= most, "{usage:?} in {hops} hops");
        }
    }
}
