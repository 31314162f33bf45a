use clap::Parser;

use super::*;
use crate::figures::duel::Fault;
use crate::figures::duel::tests::bare;
use crate::figures::grade::Grade;
use crate::figures::verdict::{Reason, Verdict};

#[derive(Debug, clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn row() -> Row {
    let found = |kind, verdict, figures: Option<[f64; 2]>| Finding {
        kind,
        verdict,
        change: figures.and_then(|[_, b]| stats::t_interval(&[b - 1.0; 8], 0.99)),
        twin: None,
        is_share: true,
        is_exact: false,
        figures,
        grade: Grade::Sure,
    };
    Row {
        name: "row".to_owned(),
        findings: vec![
            found(Kind::Time, Verdict::Inconclusive(Reason::Disturbed), None),
            found(Kind::Switches, Verdict::More, Some([1.0, 4.8])),
        ],
        ..bare()
    }
}

/// Times that nothing can be said of hide no count.
#[test]
fn all_figures_are_no_weaker_a_gate_than_counts() {
    for (gate, nothing_said) in [("all", None), ("counts", None), ("times", Some("no time"))] {
        let line = ["duel", "--fail-above", "5%", "--fail-on", gate];
        let Line { args } = Line::try_parse_from(line).unwrap();
        let error = args.judge(&[row()]).unwrap_err();
        let said = error.downcast_ref::<NothingSaid>().map(ToString::to_string);
        assert_eq!(said.is_some(), nothing_said.is_some(), "{gate}: {error}");
        assert!(said.unwrap_or_default().contains(nothing_said.unwrap_or_default()));
    }
}

/// `git bisect run` takes 1 as bad and 125 as untested.
#[test]
fn what_is_worse_is_told_from_what_failed() {
    let failed = || Row { fault: Some(Fault::Failed("x".to_owned())), findings: vec![], ..row() };
    let line = ["duel", "--fail-above", "5%", "--fail-on", "counts"];
    let Line { args } = Line::try_parse_from(line).unwrap();
    for (rows, is_untested) in
        [(vec![row(), failed()], false), (vec![row()], false), (vec![failed()], true)]
    {
        assert_eq!(args.judge(&rows).unwrap_err().is::<Untested>(), is_untested, "{rows:?}");
    }
}
