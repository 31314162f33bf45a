//! What the committed records say of the method: `cargo test -p switchcost --test all records -- --nocapture`
//! prints it.

use std::path::Path;

use figures::speed::HoldOut;
use figures::value::Value;
use figures::{Figure, Figures};
use stats::Estimate;
use switchcost::measure::store;

#[test]
fn corrected_times_are_those_of_quiet_slices_and_ratios_their_quotients() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
    let folders = results.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| folder.read_dir().unwrap());
    let (mut all, mut ratios, mut nets) = (HoldOut::default(), 0, 0);
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
            let (Some(other), Some(ratio)) = (versus.reading(), own.ratio) else { continue };
            let Some(interval) = ratio.interval else { continue };
            let quotient = own.mean.value / other.mean.value;
            let (path, key) = (path.display(), figure.place());
            assert!(interval.contains(quotient), "{path}: {key:?}: {quotient}");
            // Documents show the same.
            let value = |figure: &Figure<'_>| Value::of(&figures, figure).unwrap();
            let alike = |value: Value, estimate: &Estimate| {
                let interval = estimate.interval.unwrap();
                let ends = [estimate.value, interval.low, interval.high];
                let apart =
                    value.ends().into_iter().zip(ends).map(|(one, other)| one / other - 1.0);
                assert!(apart.fold(0.0, f64::max).abs() < 1e-9, "{path}: {key:?}: {value:?}");
            };
            alike(value(figure).over(&value(versus)).unwrap(), &ratio);
            if let (Some(net), Some(baseline)) = (&own.net, figures.baseline(figure)) {
                alike(value(figure).less(&value(baseline)).unwrap(), net);
                nets += 1;
            }
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
    assert!(ratios > 100 && nets > 0, "{ratios}, {nets}");
}
