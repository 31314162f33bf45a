//! The rules of scripts/lib/verdicts.jq, over values whose verdicts are known.

use super::{can_run, path_of};
use crate::support::process::Run;

/// Values: an estimate with the ends of its interval; disturbed; of too few runs for an interval.
const VALUES: &str = r#"
include "documents";
include "verdicts";
def v($estimate; $low; $high): {quantity: "ratio", $estimate, $low, $high, disturbed: false, contradicted: false};
def disturbed($estimate; $low; $high): v($estimate; $low; $high) | .disturbed = true;
def few($estimate): v($estimate; $estimate; $estimate) | .few = true;
def verdict($theirs; found; rule): row("claim"; $theirs; found; rule) | .verdict;
"#;

/// A row by its quotation, its values and its rule, and what is said of it.
const ROWS: [(&str, &str); 34] = [
    (r#"verdict("1.2"; v(2.3; 2.2; 2.6); as_ratio)"#, "holds"),
    (r#"verdict("1.2"; v(2.5; 2.3; 2.6); as_ratio)"#, "holds, barely"),
    (r#"verdict("1.2"; v(2.5; 2.45; 2.6); as_ratio)"#, "not here"),
    (r#"verdict("1.2"; v(1; 0.1; 30); as_ratio)"#, "undecided here: the interval is too wide"),
    (
        r#"verdict("1"; over(v(1; 0.5; 2); v(1; -1; 2)); as_ratio)"#,
        "undecided here: the interval is too wide",
    ),
    (r#"verdict("1"; v(1.05; 1.0; 1.09); as_equal)"#, "holds"),
    (r#"verdict("1"; v(1.2; 1.15; 1.3); as_equal)"#, "not here"),
    (r#"verdict("2 µs"; v(6000; 5900; 6100); as_order)"#, "same order"),
    (r#"verdict("2 µs"; v(7000; 6900; 7100); as_order)"#, "not here"),
    (r#"verdict("0.53"; v(0.6; 0.59; 0.61); as_share)"#, "holds"),
    (r#"verdict("2, 1 and 4"; (v(2; 2; 2), v(1; 1; 1), v(4; 4; 4)); as_counts)"#, "holds"),
    (r#"verdict("2, 1 and 4"; (v(2; 2; 2), v(1; 1; 1), v(1; 1; 1)); as_counts)"#, "not here"),
    (r#"verdict("10 times"; v(12; 11; 13); as_over)"#, "holds"),
    (r#"verdict("10 times"; v(12; 9; 13); as_over)"#, "undecided here: the interval is too wide"),
    (r#"verdict("10 times"; v(8; 7; 9); as_over)"#, "not here"),
    (r#"verdict("0.1"; v(0.05; 0.04; 0.06); as_under)"#, "holds"),
    (r#"verdict("250,000"; v(250000; 250000; 250000); as_reached)"#, "holds"),
    (r#"verdict("0.8"; v(0.7; 0.6; 0.9); as_side)"#, "holds"),
    (r#"verdict("0.8"; v(1.01; 0.95; 1.05); as_side)"#, "not here: no difference"),
    (r#"verdict("0.8"; v(1.3; 0.5; 43); as_side)"#, "undecided here: the interval is too wide"),
    (r#"verdict("yes"; (v(4; 3; 5), v(2; 1; 2.5)); as_larger)"#, "holds"),
    (r#"verdict("1"; (v(1.5; 1.2; 2), v(0.7; 0.5; 0.9)); as_least)"#, "not here"),
    (r#"verdict("1"; v(0.93; 0.84; 1.1); as_least)"#, "undecided here: the interval is too wide"),
    (r#"verdict("10"; (v(110; 100; 120), v(29; 28; 30)); as_all_over)"#, "holds"),
    (r#"verdict("1.5"; v(0.95; 0.9; 1.0); as_ratio)"#, "not here"),
    (r#"verdict("0.4"; v(0.5; 0.45; 0.6); as_ratio)"#, "holds"),
    (r#"verdict("10 KiB"; v(23000; 22000; 24000); as_size)"#, "not here"),
    (r#"verdict("open"; v(1.1; 0.6; 2); as_asked)"#, "undecided here: the interval is too wide"),
    (r#"verdict("20"; (v(6; 6; 6), "then", v(26; 26; 26)); as_no_longer)"#, "no longer"),
    (r#"verdict("open"; v(0.88; 0.87; 0.89); as_asked)"#, "answered: less"),
    // Disturbed ones, and single runs, by their margin.
    (r#"verdict("10 times"; disturbed(48; 45; 50); as_over)"#, "holds"),
    (
        r#"verdict("10 times"; disturbed(12; 11; 13); as_over)"#,
        "undecided here: a quieter machine decides",
    ),
    (r#"verdict("10 times"; few(12); as_over)"#, "undecided here: more rounds decide"),
    (
        r#"verdict("1"; v(1; 1; 1) | .contradicted = true; as_ratio)"#,
        "undecided here: contradicted by its counters",
    ),
];

fn jq(program: &str) -> Run {
    let library = path_of("lib");
    let run = Run::of("jq").arg("--null-input").arg("--raw-output");
    run.arg("-L").arg(library.to_str().unwrap()).arg(program)
}

#[test]
fn a_rule_says_what_its_figures_bear() {
    if !can_run(&["jq"]) {
        return;
    }
    let rows = ROWS.map(|(row, _)| row).join(",\n");
    let verdicts = jq(&format!("{VALUES}{rows}")).finish().expect(0).stdout;
    assert_eq!(verdicts.lines().count(), ROWS.len(), "{verdicts}");
    for (said, (row, expected)) in verdicts.lines().zip(ROWS) {
        assert_eq!(said, expected, "{row}");
    }
}

#[test]
fn a_text_in_the_place_of_a_rule_or_a_figure_is_an_error() {
    if !can_run(&["jq"]) {
        return;
    }
    for (row, words) in [
        (r#"verdict("1"; v(1; 1; 1); "holds")"#, "does not depend on its figures"),
        (r#"verdict("1"; "mean 9.7 µs"; as_ratio)"#, "without a figure"),
        (r#"verdict("1"; ("about 9.7", v(1; 1; 1)); as_ratio)"#, "a figure in a text"),
        (r#"claims("| 1 | 2 | 3 | holds |")"#, "no rule has judged"),
        (r#"over(v(1; 0.5; 2); v(0; -1; 2))"#, "a divisor of zero"),
    ] {
        let run = jq(&format!("{VALUES}{row}")).finish();
        assert!(run.code != 0 && run.stderr.contains(words), "{row}: {run}");
    }
    // [-2, 1] ÷ [1, 3] is [-2, 1]; a divisor that may be zero leaves no end.
    for (quotient, shown) in [
        ("over(v(-1; -2; 1); v(2; 1; 3))", "-0.50 [-2.0, 1.0]"),
        ("over(v(1; 0.5; 2); v(1; -1; 2))", "1.0 [0.25, ∞]"),
    ] {
        let run = jq(&format!("{VALUES}{quotient} | shown(\"ratio\")")).finish().expect(0);
        assert_eq!(run.stdout.trim(), shown, "{quotient}");
    }
}
