//! What the committed records say of the method: `cargo test -p switchcost --test all records -- --nocapture`
//! prints it.

use std::collections::BTreeMap;

use figures::session_spread::SPREAD;
use figures::speed::Speed;
use figures::spread::{self, MachineRows};
use figures::{Figures, sessions};
use switchcost::measure::store;

use crate::support::results;

/// Corrected times are those of quiet slices, a ratio is the quotient of its two figures, and the interval of one session
/// holds what the machine's other sessions say.
#[test]
fn the_method_holds_on_the_committed_records() {
    let (mut all, mut ratios) = (Speed::default(), 0);
    let mut machines: BTreeMap<String, MachineRows> = BTreeMap::new();
    for path in results() {
        let contents = store::read(&path).unwrap();
        let figures = Figures::of(&contents.records);
        if sessions::of(&contents.records).len() > 1 {
            let folder = path.parent().unwrap().display().to_string();
            machines.entry(folder).or_default().add(&contents.records);
        }
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
        // The sides of a duel take turns, and are compared as they are.
        if contents.records.iter().all(|record| record.header.sides.is_none()) {
            println!("{}: {}", path.display(), figures.speed.correction().unwrap_or_default());
            all.held_out.extend(figures.speed.held_out);
        }
    }
    println!("all: {}", all.correction().unwrap_or_default());
    let [[median, most], _] = all.errors().unwrap();
    assert!(median.abs() < 0.01 && most < 0.08, "{:?}", all.correction());
    assert!(ratios > 100, "{ratios}");
    let found = spread::of(machines.values()).unwrap();
    println!("between sessions: {found:?}");
    for (machine, held) in spread::held_out(&machines) {
        println!("without {machine}: ratios {:?}, times {:?}", held[0], held[1]);
        assert!(
            held.iter().all(|kind| kind.held as f64 >= 0.9 * kind.sessions as f64),
            "{machine}: {held:?}"
        );
    }
    assert_eq!(found, SPREAD);
}
