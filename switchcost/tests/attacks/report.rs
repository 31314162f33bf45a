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

/// The results with hostile titles and rows in the place of their own.
fn hostile() -> String {
    let lines = fs::read_to_string(RECORDS).unwrap();
    let (header, processes) = lines.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    let plan = &mut header["plan"];
    let sections = plan["sections"].as_array_mut().unwrap();
    let known: Vec<Value> = sections.iter().map(|s| s["title"].clone()).collect();
    for (section, title) in sections.iter_mut().zip(TITLES.iter().cycle()) {
        section["title"] = (*title).into();
    }
    for case in plan["cases"].as_array_mut().unwrap() {
        let index = known.iter().position(|title| *title == case["section"]);
        case["section"] = TITLES[index.unwrap() % TITLES.len()].into();
        for key in ["row", "baseline", "versus", "answer"] {
            if let Some(row) = case[key].as_str() {
                case[key] = format!("=1+1 <b> {row}").into();
            }
        }
    }
    format!("{header}\n{processes}")
}

fn reported(flags: &str) -> String {
    let run = switchcost("report -").flags(flags).input(&hostile());
    run.finish().expect(0).stdout
}

#[test]
fn markdown_has_no_markup_of_the_records() {
    let markdown = reported("--export-markdown -");
    assert!(!markdown.contains('<'), "{markdown}");
    assert!(markdown.contains("&lt;img src=x"), "{markdown}");
    assert!(markdown.contains("**время**"), "{markdown}");
    assert!(markdown.contains("\\|\\`**"), "{markdown}");
}

#[test]
fn csv_has_no_formula() {
    let csv = reported("--export-csv -");
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
        let run = switchcost("report").arg(&records).arg("--splice").arg(&page);
        run.finish().expect(0);
        fs::read_to_string(&page).unwrap()
    };
    let once = splice();
    assert!(once.ends_with("<!-- switchcost:end -->\nafter\n"), "{once}");
    assert_eq!(once.matches("<!-- switchcost:end -->").count(), 2);
    assert_eq!(splice(), once);
    let picture = fs::read_to_string(folder.path().join("answer.svg")).unwrap();
    assert!(picture.contains("&lt;b&gt;") && !picture.contains("<b>"), "{picture}");
}

#[test]
fn the_picture_of_a_splice_is_replaced_safely() {
    let folder = tempfile::tempdir().unwrap();
    let readme = folder.path().join("README.md");
    let empty = "<!-- switchcost:begin -->\n<!-- switchcost:end -->\n";
    fs::write(&readme, empty).unwrap();
    let splice = || switchcost("report").arg(RECORDS).arg("--splice").arg(&readme);
    splice().finish().expect(0);
    assert!(fs::read_to_string(&readme).unwrap().contains("](answer.svg)\n"));
    let svg = fs::read_to_string(folder.path().join("answer.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("OS thread"), "{svg}");
    // Another output is no picture.
    let clash = splice().arg("--html").arg(folder.path().join("answer.svg"));
    clash.finish().expect_refusal(2, &["--splice", "--html", "name another file"]);
    // Beside a folder for documents it is in there; a link is never written through.
    let docs = folder.path().join("docs");
    fs::create_dir(&docs).unwrap();
    fs::write(folder.path().join("victim"), "kept").unwrap();
    std::os::unix::fs::symlink("../victim", docs.join("answer.svg")).unwrap();
    fs::write(&readme, empty).unwrap();
    splice().finish().expect_refusal(1, &["docs/answer.svg"]);
    assert_eq!(fs::read_to_string(folder.path().join("victim")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(&readme).unwrap(), empty);
    fs::remove_file(docs.join("answer.svg")).unwrap();
    splice().finish().expect(0);
    assert_eq!(fs::read_to_string(docs.join("answer.svg")).unwrap(), svg);
    assert!(fs::read_to_string(&readme).unwrap().contains("](docs/answer.svg)\n"));
}

#[test]
fn every_plot_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("plots");
    let records = hostile().replace(TITLES[1], &"no character of XML \u{ffff}".repeat(20));
    switchcost("report - --svg").arg(&plots).input(&records).finish().expect(0);
    let mut names: Vec<String> = fs::read_dir(&plots)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    assert!(names.len() > 2 && names.contains(&"plot.svg".to_owned()), "{names:?}");
    let long = names.iter().find(|name| name.starts_with("no-character")).unwrap();
    assert!(!fs::read_to_string(plots.join(long)).unwrap().contains('\u{ffff}'), "{long}");
}

#[test]
fn one_file_is_not_written_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for other in [path.clone(), folder.path().join("./out")] {
        let run = switchcost("report").arg(RECORDS).arg("--html").arg(&path);
        let run = run.arg("--export-csv").arg(&other).finish();
        run.expect_refusal(2, &["--export-csv", "--html", "name another file"]);
        assert!(!path.exists());
    }
    let run = switchcost("report --html /dev/null --export-csv /dev/null").arg(RECORDS);
    run.finish().expect(0);
}
