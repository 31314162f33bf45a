//! Command lines and inputs that cannot be printed or understood.

use std::fs::OpenOptions;

use super::switchcost;

#[test]
fn a_help_text_that_cannot_be_printed_is_an_error() {
    for flags in ["--help", "--version", "report --help"] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = switchcost(flags).finish_into(full).expect(1);
        run.expect_complaint(&["cannot print the help", "No space left"]);
        let run = switchcost(flags).finish().expect_quiet_success();
        assert!(run.stdout.contains("switchcost"), "{run}");
    }
}

#[test]
fn a_long_argument_is_not_echoed_whole() {
    let long = "x".repeat(100_000);
    for (flags, code) in [
        (vec![format!("--{long}")], 2),
        (vec![long.clone()], 2),
        (vec!["--plan".to_owned(), long.clone()], 2),
        (vec!["--seed".to_owned(), long.clone()], 2),
        (
            vec!["list".to_owned(), "--filter".to_owned(), long.clone()],
            2,
        ),
        (vec!["report".to_owned(), long.clone()], 1),
    ] {
        let run = switchcost("");
        let run = flags.iter().fold(run, |run, flag| run.arg(flag));
        let run = run.finish();
        assert!(run.stderr.len() < 4000, "{} bytes", run.stderr.len());
        assert!(run.stderr.contains("xxx … "), "{run}");
        run.expect(code);
    }
}

#[test]
fn a_fit_takes_finite_numbers_alone() {
    for (value, words) in [
        ("nan", ["line 3, column 2", "NaN is no finite number"]),
        ("inf", ["line 3, column 2", "inf is no finite number"]),
        ("1e308", ["too large", "line"]),
    ] {
        let table = format!("tasks bytes\n1 1e308\n2 {value}\n3 -1e308\n4 1e308\n");
        let run = switchcost("fit").input(&table).finish();
        run.expect_refusal(1, &words);
    }
    let same = switchcost("fit").input("1 1\n1 2\n1 3\n").finish();
    same.expect_refusal(1, &["three rows with different values in column 1"]);
}
