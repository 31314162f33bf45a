//! Whether records can be continued here: by this build, on this machine.

use anyhow::bail;
use harness::machine::{Build, Machine};
use harness::record::Record;

/// Checks that records were made on this machine, with its settings of now, and by this build.
///
/// # Errors
/// Names the facts that differ: records from both sides would not be of one run.
pub(crate) fn ensure_same(records: &[Record]) -> anyhow::Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    compare(records, &Machine::read(), &Build::current())
}

fn compare(records: &[Record], machine: &Machine, build: &Build) -> anyhow::Result<()> {
    for record in records {
        let mut facts = record.machine.same_machine(machine);
        // Nothing tells whether two trees that were changed are the same; the tables warn of them.
        let of_build = record.build.same_build(build);
        facts.extend(of_build.into_iter().filter(|&fact| fact != "dirty"));
        if !facts.is_empty() {
            bail!(
                "it was made on another machine, with other settings or by another build ({} differ): \
                 begin a new file by --out, and set it beside this one by `switchcost compare`",
                facts.join(", ")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_and_what_is_unknown_is_not() {
        let machine = Machine {
            kernel_release: Some("6.1".to_owned()),
            ..Machine::default()
        };
        let build = Build {
            rustc: Some("1.95".to_owned()),
            dirty: Some(true),
            ..Build::default()
        };
        let unknown = Record::empty("a", Vec::new());
        let same = Record {
            machine: machine.clone(),
            build: build.clone(),
            ..unknown.clone()
        };
        assert!(compare(&[unknown.clone(), same.clone()], &machine, &build).is_ok());
        let kernel = Machine {
            kernel_release: Some("6.2".to_owned()),
            ..machine.clone()
        };
        let compiler = Build {
            rustc: Some("1.96".to_owned()),
            ..build.clone()
        };
        for (machine, build, fact) in [
            (&kernel, &build, "(kernel_release differ)"),
            (&machine, &compiler, "(rustc differ)"),
        ] {
            let error = compare(&[unknown.clone(), same.clone()], machine, build).unwrap_err();
            assert!(error.to_string().contains(fact), "{error}");
        }
    }
}
