//! `switchcost report`: the tables of a file of records.

use std::fs;

use super::{Files, PLAN, switchcost};

#[test]
fn a_file_that_is_not_there_is_told() {
    let run = switchcost("report /nonexistent").finish();
    run.expect_refusal(1, &["/nonexistent", "No such file"]);
}

#[test]
fn a_line_that_is_no_record_is_told_and_passed_over() {
    let files = Files::of(PLAN);
    let run = files.run().finish().expect(0);
    let mut lines: Vec<String> = files.text().lines().map(str::to_owned).collect();
    // A whole line of something else, and one that a full disk has cut.
    lines.insert(1, "nonsense".to_owned());
    lines.push(lines[0][..lines[0].len() / 2].to_owned());
    fs::write(files.out(), lines.join("\n")).unwrap();
    let report = switchcost("report").arg(files.out()).finish().expect(0);
    let report = report.expect_complaint(&["line 2", "line 6"]);
    assert_eq!(report.stdout, run.stdout);
}

#[test]
fn a_file_without_records_of_a_plan_is_an_error() {
    let files = Files::of(PLAN);
    for (text, word) in [
        ("", "empty"),
        ("nonsense\n", "line 1"),
        ("{\"schema\":1}\n", "line 1"),
    ] {
        fs::write(files.out(), text).unwrap();
        let run = switchcost("report").arg(files.out()).finish();
        run.expect_refusal(1, &["out.jsonl", word]);
    }
    let by_hand = crate::support::benchmarks::all()[0]
        .tiny("--format json")
        .finish();
    let run = switchcost("report -").input(&by_hand.stdout).finish();
    run.expect_refusal(1, &["no record of a plan"]);
}

#[test]
fn it_comes_as_markdown_and_json_too() {
    let files = Files::of(PLAN);
    files.run().finish().expect(0);
    let report = |flags: &str| {
        let text = files.text();
        switchcost("report -")
            .flags(flags)
            .input(&text)
            .finish()
            .expect_quiet_success()
    };
    let markdown = report("--markdown -");
    assert!(markdown.stdout.contains("\n| --- |"), "{markdown}");
    assert!(markdown.stdout.contains("\n| with tasks | "), "{markdown}");
    let json = report("--json -");
    let analysis: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(analysis["tables"][0]["rows"][1]["name"], "without");
}

#[test]
fn it_is_spliced_into_a_page_again_and_again() {
    let files = Files::of(PLAN);
    files.run().finish().expect(0);
    let page = files.folder.path().join("page.md");
    fs::write(
        &page,
        "before\n<!-- switchcost:begin -->\n<!-- switchcost:end -->\nafter\n",
    )
    .unwrap();
    let splice = || {
        let run = switchcost("report")
            .arg(files.out())
            .arg("--splice")
            .arg(&page)
            .finish();
        assert_eq!(run.expect_quiet_success().stdout, "");
        fs::read_to_string(&page).unwrap()
    };
    let once = splice();
    assert!(
        once.starts_with("before\n<!-- switchcost:begin -->\n"),
        "{once}"
    );
    assert!(once.ends_with("<!-- switchcost:end -->\nafter\n"), "{once}");
    assert!(once.contains("| with tasks | "), "{once}");
    assert_eq!(once, splice());
}

#[test]
fn each_plot_is_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("new").join("plots");
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plan.jsonl");
    let run = switchcost("report").arg(plan).arg("--svg").arg(&plots);
    run.finish().expect_quiet_success();
    let files: Vec<_> = fs::read_dir(&plots)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    assert_eq!(files.len(), 5, "four tables and a curve: {files:?}");
    for file in files {
        let svg = fs::read_to_string(&file).unwrap();
        assert!(svg.starts_with("<svg xmlns="), "{}", file.display());
        assert_eq!(svg.matches("<svg ").count(), svg.matches("</svg>").count());
        assert!(!svg.contains("var(--"), "{}", file.display());
    }
    // A folder that cannot be one.
    let run = switchcost("report").arg(plan).arg("--svg").arg(plan);
    run.finish().expect_refusal(1, &["plan.jsonl"]);
}
