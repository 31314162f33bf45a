//! Pairs that work at the same time: what they describe, and what the kernel counts.

use contract::message::{Answer, Description};

use super::promises::answers;
use crate::support::build;
use crate::support::process::Run;

/// On one CPU a thread hands on by giving the CPU up, or by being preempted: each hop of each pair is a switch
/// that the kernel counted.
#[test]
fn hops_are_the_switches_that_the_kernel_counts() {
    for over in ["--over pipe", "--over memory"] {
        for chains in [1, 5] {
            let flags = "--tasks 3 --trips 50 --placement chain --controlled --chains";
            let run = Run::of(build().join("pairs")).flags(over).flags(flags);
            let outcome = run.arg(chains.to_string()).input("run 20\nend\n").finish();
            let all = answers(&outcome.stdout);
            let [Answer::Ready(ready), Answer::Ran { samples_ns, usage: Some(usage), .. }, ..] =
                &all[..]
            else {
                panic!("{outcome}");
            };
            let description = &ready.description;
            assert_eq!((description.hops, description.trips), (Some(50 * chains * 4), 50));
            let hops = samples_ns.len() as u64 * 50 * chains * 4;
            let switches = usage.voluntary_switches + usage.involuntary_switches;
            assert!(switches >= hops * 9 / 10, "{over}: {switches} switches in {hops} hops");
            // A thread waits at most once for each of its hops, and once for each start.
            let most = hops + samples_ns.len() as u64 * 4 * chains;
            assert!(usage.voluntary_switches <= most, "{usage:?} in {hops} hops");
        }
    }
}

#[test]
fn hops_of_async_tasks_are_those_of_all_pairs() {
    for flags in ["--on tokio", "--on tokio --over memory --flavor current-thread"] {
        let run = Run::of(build().join("pairs")).flags(flags);
        let run = run.flags("--tasks 4 --chains 3 --trips 5 --describe").finish();
        let described: Description = serde_json::from_str(run.expect(0).stdout.trim()).unwrap();
        assert_eq!((described.hops, described.chains), (Some(75), 3), "{flags}");
    }
}
