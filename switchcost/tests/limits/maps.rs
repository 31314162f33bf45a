//! Memory maps, of which only some kinds of stacks take any for each thread.

use std::fs;

use crate::support::benchmarks::with;
use crate::support::skip;

const LIMIT: &str = "vm.max_map_count";

#[test]
fn only_std_stacks_are_bound_by_the_number_of_memory_maps() {
    let most = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    let Ok(most) = most.trim().parse::<u32>() else {
        return skip("vm.max_map_count cannot be read");
    };
    let tasks = most / 4 + 1;
    for benchmark in with("--stacks") {
        let stacks = &benchmark.flags["--stacks"];
        assert_eq!(stacks[0], "std", "the default stands first");
        for kind in stacks {
            let flags = format!("--tasks {tasks} --stacks {kind} --check-limits");
            let run = benchmark.run(&flags).finish();
            assert!([0, 1].contains(&run.code), "{run}");
            assert_eq!(run.stdout.contains(LIMIT), kind == "std", "{run}");
        }
        let run = benchmark.run(&format!("--tasks {tasks}")).finish();
        run.expect_refusal(1, &[LIMIT, "sysctl -w vm.max_map_count="]);
    }
}
