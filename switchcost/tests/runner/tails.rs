//! Percentiles of latencies as they are printed, of queues that are known: simulated ones, without a clock.

use std::fs;

use fastrand::Rng;

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

/// Arrivals of a request, requests of a process, and arrivals before them.
const ARRIVALS: [usize; 3] = [10_000, 24, 20_000];

/// Time of a task, or its mean, in ns.
const WORK: f64 = 20_000.0;

/// Stalls of the server: how often, and how long, in ns.
const STALL: [f64; 2] = [100e6, 1e6];

/// A queue before some servers.
#[derive(Clone, Copy)]
struct Queue {
    name: &'static str,
    servers: usize,
    is_random: bool,
    load: f64,
    has_stalls: bool,
}

impl Queue {
    /// Waits of the tasks in ns, each served by the server that is free first.
    fn waits(self) -> Vec<u64> {
        let mut rng = Rng::with_seed(1);
        let mut random = |mean: f64| -(1.0 - rng.f64()).ln() * mean;
        let (mut now, mut free) = (0.0, vec![0.0; self.servers]);
        let wait = |_| {
            now += random(WORK / self.load / self.servers as f64);
            free.sort_unstable_by(f64::total_cmp);
            let mut start = f64::max(now, free[0]);
            if self.has_stalls && start % STALL[0] < STALL[1] {
                start += STALL[1] - start % STALL[0];
            }
            free[0] = start + if self.is_random { random(WORK) } else { WORK };
            (start - now) as u64 + 1
        };
        let [each, requests, before] = ARRIVALS;
        (0..before + each * requests).map(wait).skip(before).collect()
    }

    /// The 99th percentile of M/D/1 is by Erlang's formula (`erlang` in more/sparse-arrivals/src/schedule.rs), at
    /// 99 %; of M/M/2, P(W > t) = C exp(-(2 mu - lambda) t) with Erlang's C = 2 rho^2 / (1 + rho) (Kleinrock, Queueing
    /// Systems, volume 1, 1975).
    fn theory(self) -> f64 {
        match (self.is_random, self.load) {
            (true, load) => {
                WORK * (2.0 * load * load / (1.0 + load) / 0.01).ln() / (2.0 - 2.0 * load)
            }
            // Backlogs of a stall fall by 1 - load in each ns: above t they are for (stall - t) / (1 - load).
            _ if self.has_stalls => STALL[1] - 0.01 * STALL[0] * (1.0 - self.load),
            (_, 0.5) => 3.336 * WORK,
            (_, 0.7) => 6.485 * WORK,
            _ => 21.897 * WORK,
        }
    }
}

#[test]
fn a_tail_is_that_of_the_queue_and_shows_its_stalls() {
    let queue = |name, servers, is_random, load| Queue {
        name,
        servers,
        is_random,
        load,
        has_stalls: false,
    };
    let stalls = Queue { has_stalls: true, ..queue("stalls", 1, false, 0.5) };
    let queues = [
        queue("m-d-1-at-50", 1, false, 0.5),
        queue("m-d-1-at-70", 1, false, 0.7),
        queue("m-d-1-at-90", 1, false, 0.9),
        queue("m-m-2-at-50", 2, true, 0.5),
        queue("m-m-2-at-70", 2, true, 0.7),
        queue("m-m-2-at-90", 2, true, 0.9),
        stalls,
    ];
    let house = House::new(1, &queues.map(|queue| queue.name));
    let all = (ARRIVALS[0] * ARRIVALS[1]).to_string();
    let plan = house
        .plan()
        .replace("'hop'", "'samples.p99'")
        .replace("iters = 4", &format!("iters = {all}"));
    let also = "[[section.also]]\nname = 'tail'\nmetric = 'samples.p99.9'\n[[section.row]]";
    house.set_plan(&plan.replacen("[[section.row]]", also, 1));
    let mut pooled = Vec::new();
    for queue in queues {
        executable(&house.path(queue.name), REPLAY);
        let mut waits = queue.waits();
        for (k, request) in waits.chunks(ARRIVALS[0]).enumerate() {
            let path = house.path(&format!("{}.{k}", queue.name));
            fs::write(path, format!("{{\"at\":\"ran\",\"samples_ns\":{request:?}}}\n")).unwrap();
        }
        waits.sort_unstable();
        pooled.push(
            [0.99, 0.999].map(|share| waits[(waits.len() as f64 * share).ceil() as usize - 1]),
        );
    }
    let outcome = house.run("--format json").finish();
    let json: serde_json::Value = serde_json::from_str(&outcome.expect(0).stdout).unwrap();
    for (queue, pooled) in queues.into_iter().zip(pooled) {
        let name = format!("row {}", queue.name);
        let figures =
            json["figures"].as_array().unwrap().iter().filter(|figure| figure["row"] == *name);
        let printed: Vec<f64> =
            figures.map(|figure| figure["mean"]["value"].as_f64().unwrap()).collect();
        assert!(
            printed.iter().zip(pooled).all(|(p, ns)| (p / ns as f64 - 1.0).abs() < 1e-9),
            "{name}: {printed:?}, {pooled:?}"
        );
        assert_eq!(printed.len(), 2, "{name}");
        let off = printed[0] / queue.theory() - 1.0;
        assert!(off.abs() < 0.1, "{name}: {printed:?} ns, expected {} ({off:.3})", queue.theory());
    }
}
