//! `switchcost report`: hostile titles, notes and paths.

use std::fs;

use serde_json::Value;

use super::{RECORDS, switchcost};

/// Titles that are markup, a formula, the end mark of a splice, and no ASCII.
const TITLES: [&str; 4] = [
    "=HYPERLINK(\"http://x\") <img src=x onerror=alert(1)>",
    "<!-- switchcost:end -->",
    "время",
    "память|`",
];

/// The records with hostile titles, rows and columns in the place of their own.
fn hostile() -> String {
    let mut known: Vec<String> = Vec::new();
    let lines = fs::read_to_string(RECORDS).unwrap();
    let line = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let Some(plan) = record.get_mut("plan") else {
            return line.to_owned();
        };
        let section = plan["section"].as_str().unwrap().to_owned();
        let index = known.iter().position(|s| *s == section).unwrap_or_else(|| {
            known.push(section);
            known.len() - 1
        });
        plan["section"] = TITLES[index % TITLES.len()].into();
        let row = format!("=1+1 <b> {}", plan["row"].as_str().unwrap());
        plan["row"] = row.into();
        record.to_string()
    };
    lines.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn reported(flags: &str) -> String {
    let run = switchcost("report -").flags(flags).input(&hostile());
    run.finish().expect(0).stdout
}

#[test]
fn markdown_has_no_markup_of_the_records() {
    let markdown = reported("--markdown -");
    assert!(!markdown.contains('<'), "{markdown}");
    assert!(markdown.contains("&lt;img src=x"), "{markdown}");
    assert!(markdown.contains("**время**"), "{markdown}");
    assert!(markdown.contains("\\|\\`**"), "{markdown}");
}

#[test]
fn csv_has_no_formula() {
    let csv = reported("--csv -");
    assert!(csv.lines().count() > 4);
    for line in csv.lines().skip(1) {
        assert!(!line.starts_with(['=', '+', '-', '@']), "{line}");
        assert!(!line.contains(",="), "{line}");
        assert!(!line.contains("\"="), "{line}");
    }
}

#[test]
fn a_splice_does_not_grow() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    let records = folder.path().join("records.jsonl");
    fs::write(&records, hostile()).unwrap();
    fs::write(
        &page,
        "The end is <!-- switchcost:end -->.\n<!-- switchcost:begin -->\n<!-- switchcost:end -->\nafter\n",
    )
    .unwrap();
    let splice = || {
        let run = switchcost("report")
            .arg(&records)
            .arg("--splice")
            .arg(&page);
        run.finish().expect(0);
        fs::read_to_string(&page).unwrap()
    };
    let once = splice();
    assert!(once.ends_with("<!-- switchcost:end -->\nafter\n"), "{once}");
    assert_eq!(once.matches("<!-- switchcost:end -->").count(), 2);
    assert_eq!(splice(), once);
}

#[test]
fn every_plot_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("plots");
    let run = switchcost("report - --svg").arg(&plots).input(&hostile());
    run.finish().expect(0);
    let mut names: Vec<String> = fs::read_dir(&plots)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    assert!(names.contains(&"plot.svg".to_owned()), "{names:?}");
    assert!(names.contains(&"plot-2.svg".to_owned()), "{names:?}");
}

#[test]
fn one_file_is_not_written_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for other in [path.clone(), folder.path().join("./out")] {
        let run = switchcost("report").arg(RECORDS).arg("--html").arg(&path);
        let run = run.arg("--csv").arg(&other).finish();
        run.expect_refusal(2, &["--csv", "--html", "name another file"]);
        assert!(!path.exists());
    }
    let run = switchcost("report --html /dev/null --csv /dev/null").arg(RECORDS);
    run.finish().expect(0);
}
