//! The header of a run, and what it says about the cases.

use std::time::SystemTime;

use record::{Build, Plan, Run};

use crate::plan::Case;
use crate::system::console::shell_line;

/// Header of a run of these cases that begins now. A seed that is drawn is short enough to be typed again.
pub(crate) fn begin(seed: Option<u64>, build: Build, cases: &[Case]) -> Run {
    let drawn = || record::milliseconds(SystemTime::now()) % 1_000_000;
    let seed = seed.unwrap_or_else(drawn);
    Run::begin(command_line(), seed, observe::machine::read(), build, plan(cases))
}

/// The header's part about the cases, in the order of their places.
fn plan(cases: &[Case]) -> Plan {
    let mut in_order: Vec<&Case> = cases.iter().collect();
    in_order.sort_by_key(|case| case.index);
    let mut plan = Plan::default();
    for case in in_order {
        // A filter leaves gaps.
        while plan.cases.len() < case.index as usize {
            plan.cases.push(record::Case {
                section: case.section.title.clone(),
                ..record::Case::default()
            });
        }
        if plan.cases.len() == case.index as usize {
            plan.put(&case.section, &case.cell);
        }
    }
    plan
}

/// Words typed behind the runner's name, without the file that it writes to.
fn command_line() -> String {
    let mut words = Vec::new();
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        let arg = arg.to_string_lossy().into_owned();
        match arg.as_str() {
            "--out" => drop(args.next()),
            _ if arg.starts_with("--out=") => {}
            _ => words.push(arg),
        }
    }
    shell_line(&words)
}
