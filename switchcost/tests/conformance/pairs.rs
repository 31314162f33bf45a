//! Pairs that work at the same time: what they describe, and what the kernel counts.

use contract::message::{Answer, Description};
use serde_json::from_str;

use super::promises::answers;
use crate::support::build;
use crate::support::process::Run;

fn pairs(flags: &str, more: &str) -> Run {
    Run::of(build().join("pairs")).flags(flags).flags(more)
}

#[test]
fn hops_are_those_of_all_pairs() {
    for flags in ["", "--over memory", "--on tokio", "--on tokio --flavor current-thread"] {
        let describe = |more: &str| -> Description {
            from_str(pairs(flags, more).finish().expect(0).line()).unwrap()
        };
        let one = describe("--tasks 4 --trips 1 --describe");
        let all = describe("--tasks 4 --chains 3 --trips 5 --describe");
        assert_eq!((one.hops, one.chains, one.trips), (Some(5), 1, 1), "{flags}");
        assert_eq!((all.hops, all.chains, all.trips), (Some(75), 3, 5), "{flags}");
        assert_eq!((all.tasks, all.tokens), (one.tasks, one.tokens), "{flags}");
        // Threads of the tasks, and of the drivers.
        let tasks = if one.needs.threads.each == 0 { 0 } else { 8 };
        let threads = [&one, &all].map(|description| description.needs.threads.of(4));
        assert!(threads[1] >= threads[0] + tasks + 2, "{flags}");
    }
}

/// On one CPU a thread hands on by giving the CPU up, or by being preempted: each hop of each pair is a switch
/// that the kernel counted.
#[test]
fn hops_are_the_switches_that_the_kernel_counts() {
    for over in ["--over pipe", "--over memory"] {
        for chains in [1, 5] {
            let more =
                format!("--tasks 3 --trips 50 --chains {chains} --placement chain --controlled");
            let outcome = pairs(over, &more).input("run 20\nend\n").finish();
            let all = answers(&outcome.stdout);
            let Some(Answer::Ran { samples_ns, usage: Some(usage), .. }) = all.get(1) else {
                panic!("{outcome}");
            };
            let hops = samples_ns.len() as u64 * 50 * chains * 4;
            let switches = usage.voluntary_switches + usage.involuntary_switches;
            assert!(switches >= hops * 9 / 10, "{over}: {switches} switches in {hops} hops");
            // A thread waits at most once for each of its hops, and once for each start.
            let most = hops + samples_ns.len() as u64 * 4 * chains;
            assert!(usage.voluntary_switches <= most, "{usage:?} in {hops} hops");
        }
    }
}
