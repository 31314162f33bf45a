//! `switchcost report`: hostile titles, notes and paths.

use std::fs;

use super::renamed;
use crate::support::switchcost;

/// Titles that are markup, a formula, a comment, and no ASCII.
const TITLES: [&str; 4] =
    ["=HYPERLINK(\"http://x\") <img src=x onerror=alert(1)>", "<!--/table-->", "время", "память|`"];

fn hostile() -> String {
    renamed(|place, _| TITLES[place % TITLES.len()].to_owned(), |row| format!("=1+1 <b> {row}"))
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
    // Of a fleet, too.
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
    files.iter().for_each(|file| fs::write(file, hostile()).unwrap());
    let fleet = switchcost("report --format csv").arg(&files[0]).arg(&files[1]);
    let (csv, fleet) = (reported("--format csv"), fleet.finish().expect(0).stdout);
    assert!(csv.lines().count() > 4 && fleet.contains("'=1+1"), "{fleet}");
    for line in csv.lines().skip(1).chain(fleet.lines().skip(1)) {
        let is_formula = line.starts_with(['=', '+', '-', '@']) || line.contains(",=");
        assert!(!is_formula && !line.contains("\"="), "{line}");
    }
}

/// By the title of its section, whatever that is.
#[test]
fn every_plot_has_a_file_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("plots");
    let records = hostile().replace(TITLES[1], &"../no character of XML \u{ffff}".repeat(20));
    switchcost("report - --svg").arg(&plots).input(&records).finish().expect(0);
    let mut files = fs::read_dir(&plots).unwrap().map(|file| file.unwrap().path());
    assert!(files.any(|file| !fs::read_to_string(file).unwrap().contains('\u{ffff}')));
    assert!(plots.join("plot.svg").is_file() && fs::read_dir(&plots).unwrap().count() > 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
