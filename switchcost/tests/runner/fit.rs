//! `switchcost fit`: a line through two columns of numbers.

use super::switchcost;
use crate::support::process::Outcome;

fn fit(input: &str, flags: &str) -> Outcome {
    switchcost("fit").flags(flags).input(input).finish()
}

/// The value of a line of the answer.
fn value<'a>(run: &'a Outcome, name: &str) -> &'a str {
    let mut lines = run.stdout.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
    value.unwrap_or_else(|| panic!("no {name}: {run}"))
}

#[test]
fn a_straight_line_is_found() {
    let run = fit("1\t4\n2\t7\n3\t10\n4\t13\n", "").expect_quiet_success();
    assert!(value(&run, "slope").starts_with("3.000000\t"), "{run}");
    assert_eq!(value(&run, "intercept"), "1.000000");
    assert_eq!(value(&run, "standard error"), "0.000000");
    assert_eq!(value(&run, "R2"), "1.000000");
}

/// By hand: the deviations of x and y give Sxx = 10 and Sxy = 6, the residuals' squares sum to
/// 2.4, so the slope's standard error is sqrt(2.4 / 3 / 10), and the t quantile of 3 degrees of
/// freedom is 3.182446 (any printed table).
#[test]
fn scattered_points_have_an_interval() {
    let rows = "# a comment\ntasks y\n1 2\n2 4\n\n3 5\n4 4\n5 5\n";
    let run = fit(rows, "").expect_quiet_success();
    assert_eq!(
        value(&run, "slope"),
        "0.600000\t(95 %: -0.300132 to 1.500132)"
    );
    assert_eq!(value(&run, "standard error"), "0.282843");
    assert_eq!(value(&run, "intercept"), "2.200000");
    assert_eq!(value(&run, "R2"), "0.600000");
}

#[test]
fn columns_are_chosen_and_kibibytes_are_bytes() {
    let rows = "a 10 1\nb 20 2\nc 30 3\n";
    let run = fit(rows, "--x 3 --y 2").expect_quiet_success();
    assert!(value(&run, "slope").starts_with("10.000000\t"), "{run}");
    let run = fit(rows, "--x 3 --y 2 --kib").expect_quiet_success();
    assert_eq!(value(&run, "slope, bytes"), "10240.0");
}

#[test]
fn what_is_no_number_is_told_by_its_line() {
    let run = fit("1\t2\n2\t3\nthree\tfour\n3\t4\n", "");
    run.expect_refusal(1, &["line 3", "three"]);
    let run = fit("1 2\n2 3\n3 4\n", "--y 3");
    run.expect_refusal(1, &["line 2", "columns 1 and 3"]);
    // One line of headings is passed over, and no more.
    let run = fit("tasks\tKiB\nnot\tanumber\n1\t2\n2\t3\n3\t4\n", "");
    run.expect_refusal(1, &["line 2"]);
}

#[test]
fn too_few_rows_make_no_line() {
    for rows in ["", "x y\n", "1 2\n", "1 2\n2 3\n", "1 2\n1 3\n1 4\n"] {
        fit(rows, "").expect_refusal(1, &["three rows"]);
    }
    for rows in ["1 nan\n2 3\n3 4\n4 5\n", "1 inf\n2 3\n3 4\n4 5\n"] {
        let run = fit(rows, "").expect(1);
        assert!(run.stdout.is_empty(), "{run}");
    }
}
