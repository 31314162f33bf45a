//! What the committed records say of the method: `cargo test -p switchcost --test all records -- --nocapture`
//! prints it.

use std::path::{Path, PathBuf};

use facts::Record;
use switchcost::figures::Figures;
use switchcost::figures::speed::HoldOut;
use switchcost::measure::store;

/// Records of each file in results/.
fn files() -> Vec<(PathBuf, Vec<Record>)> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
    let folders = results.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| {
        folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    });
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    files.sort();
    // Some are of other layouts.
    let read = |path: PathBuf| Some((path.clone(), store::read(&path).ok()?.records));
    files.into_iter().filter_map(read).collect()
}

#[test]
fn corrected_times_are_those_of_quiet_slices() {
    let mut all = HoldOut::default();
    for (path, records) in files() {
        let held_out = Figures::of(&records).held_out;
        if !held_out.0.is_empty() {
            println!("{}: {held_out}", path.display());
        }
        all.0.extend(held_out.0);
    }
    println!("all: {all}");
    let [[mean, square], _] = all.errors().unwrap();
    assert!(mean.abs() < 0.02 && square < 0.06, "{all}");
}

#[test]
fn the_quotient_of_two_figures_lies_inside_the_interval_of_their_ratio() {
    let mut ratios = 0;
    for (path, records) in files() {
        let figures = Figures::of(&records);
        for figure in figures.iter() {
            let (Some(own), Some(versus)) = (figure.reading(), figures.versus(figure)) else {
                continue;
            };
            let (Some(other), Some(ratio)) = (versus.reading(), own.ratio) else { continue };
            let Some(interval) = ratio.interval else { continue };
            let quotient = own.mean.value / other.mean.value;
            assert!(
                interval.contains(quotient),
                "{}: {:?}: {quotient}",
                path.display(),
                figure.key
            );
            ratios += 1;
        }
    }
    assert!(ratios > 250, "{ratios}");
}
