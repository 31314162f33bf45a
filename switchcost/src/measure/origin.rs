//! Continuing a run: only on the machine and by the build that began it.

use anyhow::bail;
use facts::{Build, Machine, Run};

/// Checks that a run was begun on this machine, with these settings, by this build.
///
/// # Errors
/// Names the facts that differ.
pub(crate) fn ensure_same(run: &Run, machine: &Machine, build: &Build) -> anyhow::Result<()> {
    let mut facts = run.machine.same_machine(machine);
    // Nothing tells whether two trees that were changed are the same; the tables warn of them.
    let of_build = run.build.same_build(build);
    facts.extend(of_build.into_iter().filter(|&fact| fact != "dirty"));
    if facts.is_empty() {
        return Ok(());
    }
    bail!(
        "it was made on another machine, with other settings or by another build ({} differ): \
         begin a new file by --out, and compare it with this one by `switchcost compare`",
        facts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::Plan;

    #[test]
    fn known_differences_are_named_and_unknown_ones_are_not() {
        let machine = |kernel: &str| Machine {
            kernel_release: Some(kernel.to_owned()),
            ..Machine::default()
        };
        let build = |rustc: &str| Build {
            rustc: Some(rustc.to_owned()),
            dirty: Some(true),
            ..Build::default()
        };
        let run = |machine, build| Run::begin(String::new(), 1, machine, build, Plan::default());
        let same = run(machine("6.1"), build("1.95"));
        let unknown = run(Machine::default(), Build::default());
        for (run, kernel, rustc, fact) in [
            (&same, "6.1", "1.95", None),
            (&unknown, "6.2", "1.96", None),
            (&same, "6.2", "1.95", Some("(kernel_release differ)")),
            (&same, "6.1", "1.96", Some("(rustc differ)")),
        ] {
            let found = ensure_same(run, &machine(kernel), &build(rustc));
            match fact {
                None => assert!(found.is_ok()),
                Some(fact) => assert!(found.unwrap_err().to_string().contains(fact)),
            }
        }
    }
}
