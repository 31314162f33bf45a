//! Percentiles of latencies as they are printed, of latencies that are known.

use std::fs;

use crate::support::house::{House, executable};

/// A program that answers each long request with the next file of latencies that lies beside it.
const REPLAY: &str = r#"#!/bin/sh
description='"contract":1,"program":"replay","version":"0","tasks":1,"arrivals":1,"claim":"no-switch","passes":[{"name":"main","settle":0}]'
case "$*" in
*--help*) echo '  --tasks <N>'; exit ;;
*--describe*) echo "{$description}"; exit ;;
esac
echo "{\"at\":\"ready\",\"pids\":[$$],\"setup_ns\":1,$description}"
k=0
while read -r what n rest; do
    case $what$n in
    run1) echo '{"at":"ran","samples_ns":[1]}' ;;
    run*) cat "$0.$k"; k=$((k + 1)) ;;
    hold) echo "{\"at\":\"held\",\"pids\":[$$]}" ;;
    *) break ;;
    esac
done
echo '{"at":"ended","teardown_ns":1}'
"#;

/// Latencies of a request, and requests.
const LATENCIES: [usize; 2] = [10_000, 4];

/// A percentile is that of all requests together, whichever of them has the tail.
#[test]
fn a_tail_is_that_of_all_samples() {
    let house = House::new(1, &["replay"]);
    let [each, requests] = LATENCIES;
    let plan = house
        .plan()
        .replace("'hop'", "'samples.p99'")
        .replace("iters = 4", &format!("iters = {}", each * requests));
    let also = "[[section.also]]\nname = 'tail'\nmetric = 'samples.p99.9'\n[[section.row]]";
    house.set_plan(&plan.replacen("[[section.row]]", also, 1));
    executable(&house.path("replay"), REPLAY);
    // Times of an exponential distribution, and a stall in the last request.
    let mut rng = fastrand::Rng::with_seed(1);
    let mut waits: Vec<u64> =
        (0..each * requests).map(|_| (-(1.0 - rng.f64()).ln() * 20e3) as u64 + 1).collect();
    waits[each * requests - 300..].iter_mut().for_each(|ns| *ns += 1_000_000);
    for (k, request) in waits.chunks(each).enumerate() {
        let answer = format!("{{\"at\":\"ran\",\"samples_ns\":{request:?}}}\n");
        fs::write(house.path(&format!("replay.{k}")), answer).unwrap();
    }
    waits.sort_unstable();
    let outcome = house.run("--format json").finish().expect(0);
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let figures = json["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 2, "{outcome}");
    for (figure, share) in figures.iter().zip([0.99, 0.999]) {
        let expected = waits[(waits.len() as f64 * share).ceil() as usize - 1];
        let printed = figure["mean"]["value"].as_f64().unwrap();
        assert!((printed / expected as f64 - 1.0).abs() < 1e-9, "{printed}, {expected}");
    }
}
