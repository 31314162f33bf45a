//! What the committed records say of the method: `cargo test -p switchcost --test all records -- --nocapture`
//! prints it.

use std::path::Path;

use figures::Figures;
use figures::speed::HoldOut;
use switchcost::measure::store;

#[test]
fn corrected_times_are_those_of_quiet_slices_and_ratios_their_quotients() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
    let folders = results.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| folder.read_dir().unwrap());
    let (mut all, mut ratios) = (HoldOut::default(), 0);
    for path in files.map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|ending| ending != "gz") {
            continue;
        }
        let contents = store::read(&path).unwrap();
        let figures = Figures::of(&contents.records);
        for figure in figures.iter() {
            let (Some(own), Some(versus)) = (figure.reading(), figures.versus(figure)) else {
                continue;
            };
            let (Some(other), Some(ratio)) = (versus.reading(), &figure.related.ratio) else {
                continue;
            };
            let Some(interval) = ratio.estimate.interval else { continue };
            let quotient = own.mean.value / other.mean.value;
            let (path, key) = (path.display(), figure.place());
            assert!(interval.contains(quotient), "{path}: {key:?}: {quotient}");
            ratios += 1;
        }
        if !figures.held_out.0.is_empty() {
            println!("{}: {}", path.display(), figures.held_out);
        }
        all.0.extend(figures.held_out.0);
    }
    println!("all: {all}");
    let [[mean, square], _] = all.errors().unwrap();
    assert!(mean.abs() < 0.02 && square < 0.06, "{all}");
    assert!(ratios > 100, "{ratios}");
}
