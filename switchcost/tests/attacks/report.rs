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

#[test]
fn an_export_has_no_markup_and_no_formula_of_the_records() {
    let reported = |flags: &str| {
        switchcost("report -").flags(flags).input(&hostile()).finish().expect(0).stdout
    };
    let markdown = reported("--format markdown --full");
    assert!(!markdown.contains('<'), "{markdown}");
    for text in ["&lt;img src=x", "**время**", "\\|\\`**"] {
        assert!(markdown.contains(text), "{text}: {markdown}");
    }
    let csv = reported("--format csv");
    assert!(csv.lines().count() > 4);
    for line in csv.lines().skip(1) {
        let is_formula = line.starts_with(['=', '+', '-', '@']) || line.contains(",=");
        assert!(!is_formula && !line.contains("\"="), "{line}");
    }
}

#[test]
fn a_splice_does_not_grow_and_its_picture_is_replaced_safely() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (page, records) = (path("page.md"), path("records.jsonl"));
    fs::write(&records, hostile()).unwrap();
    let empty = "The end is <!-- switchcost:end -->.\n<!-- switchcost:begin -->\n<!-- switchcost:end -->\nafter\n";
    fs::write(&page, empty).unwrap();
    let splice = || switchcost("report").arg(&records).arg("--splice").arg(&page);
    splice().finish().expect(0);
    let once = fs::read_to_string(&page).unwrap();
    assert!(once.ends_with("<!-- switchcost:end -->\nafter\n"), "{once}");
    assert_eq!(once.matches("<!-- switchcost:end -->").count(), 2);
    splice().finish().expect(0);
    assert_eq!(fs::read_to_string(&page).unwrap(), once);
    let picture = fs::read_to_string(path("answer.svg")).unwrap();
    assert!(picture.contains("&lt;b&gt;") && !picture.contains("<b>"), "{picture}");
    // Another output is no picture.
    let clash = splice().arg("--html").arg(path("answer.svg"));
    clash.finish().expect_refusal(2, &["--splice", "name another file"]);
    // Beside a folder for documents it is in there; a link is never written through.
    fs::create_dir(path("docs")).unwrap();
    fs::write(path("victim"), "kept").unwrap();
    std::os::unix::fs::symlink("../victim", path("docs/answer.svg")).unwrap();
    splice().finish().expect_refusal(1, &["docs/answer.svg"]);
    assert_eq!(fs::read_to_string(path("victim")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(&page).unwrap(), once);
    fs::remove_file(path("docs/answer.svg")).unwrap();
    splice().finish().expect(0);
    assert!(fs::read_to_string(&page).unwrap().contains("](docs/answer.svg)\n"));
}

#[test]
fn every_plot_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("plots");
    let records = hostile().replace(TITLES[1], &"no character of XML \u{ffff}".repeat(20));
    switchcost("report - --svg").arg(&plots).input(&records).finish().expect(0);
    let files = fs::read_dir(&plots).unwrap();
    let names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    assert!(names.len() > 2 && names.contains(&"plot.svg".to_owned()), "{names:?}");
    let long = names.iter().find(|name| name.starts_with("no-character")).unwrap();
    assert!(!fs::read_to_string(plots.join(long)).unwrap().contains('\u{ffff}'), "{long}");
}
