//! Queries on files that are no records of the runner: programs of others, limits, and other tools.
//!
//! `beside: pairs / NAME / PLACEMENT` is our time ÷ theirs; `theirs / ...`, their time; `runs / NAME / PART`, what a part of
//! a program's runs is on average. Behind `over` stands what the last two are divided by, run by run.

use anyhow::{Context, bail, ensure};
use figures::grade::Grade;
use figures::value::Value;
use host::units::Quantity;
use serde_json::Value as Json;
use stats::{Estimate, Interval};

use crate::found::{Found, line, signed};

/// What a file says of a path.
pub(crate) fn figure(file: &str, lines: &[Json], path: &[&str]) -> anyhow::Result<Found> {
    let (_, name) = file.split_once('/').unwrap_or_default();
    Ok(Found::Value(match (name, path) {
        ("beside", ["pairs", name, placement]) => pairs(lines, name, placement)?,
        ("beside", ["theirs", name, placement, "over", second, second_placement]) => {
            ratio(&sides(lines, name, placement)?.0, &sides(lines, second, second_placement)?.0)?
        }
        ("beside", ["runs", name, part]) => mean(&runs(lines, name, part)?, quantity(part))?,
        ("beside", ["runs", name, part, "over", second, second_part]) => {
            ratio(&runs(lines, name, part)?, &runs(lines, second, second_part)?)?
        }
        ("beside", ["calls", name, call]) => {
            let line = line(lines, |line| line["name"] == **name && line.get("calls").is_some())?;
            ensure!(CALLS.contains(call), "the calls that were counted are {}", CALLS.join(", "));
            let calls = line["calls"][call].as_f64().unwrap_or(0.0);
            Value::count(calls / line["hops"].as_f64().context("no hops")?)
        }
        ("beside", ["memory", tokio]) => {
            let line = line(lines, |line| line["tokio"] == **tokio)?;
            let points: Vec<[f64; 2]> = serde_json::from_value(line["resident_bytes"].clone())?;
            let [tasks, bytes] =
                [0, 1].map(|k| points.iter().map(|point| point[k]).collect::<Vec<_>>());
            let fit = stats::fit_line(&tasks, &bytes).context("no line fits")?;
            Value::exact(fit.slope.estimate, Some(Quantity::Bytes))
        }
        ("limits", ["allowed", program, limit]) => {
            let line = limits_of(lines, program)?;
            let mut limits = line["limits"].as_array().into_iter().flatten();
            let limit = limits.find(|own| own["name"] == **limit).context("no such limit")?;
            Value::count(limit["most"][program].as_f64().context("it limits nothing")?)
        }
        ("limits", ["needed", program, resource]) => {
            let needs = &limits_of(lines, program)?["programs"][0]["needs"];
            Value::count(needs[resource]["each"].as_f64().context("no such resource")?)
        }
        ("equals" | "blocks", ["duels"]) => Value::count(lines.len() as f64),
        ("equals" | "blocks", [count @ ("alarms" | "rows")]) => {
            let counts = lines.iter().map(|line| line[count].as_f64());
            let sum: Option<f64> = counts.sum();
            Value::count(sum.context("a duel does not say how many")?)
        }
        ("criterion", [from, to]) => return criterion(lines, from, to).map(Found::Text),
        ("futex-c", [name]) | ("beside", ["printed", name]) => {
            let printed = |line: &Json| line["name"] == **name && line["output"].is_string();
            let output = line(lines, printed)?["output"].as_str().unwrap_or_default();
            return Ok(Found::Text(output.to_owned()));
        }
        _ => bail!("no such figure"),
    }))
}

/// System calls that scripts/beside.sh counts.
const CALLS: [&str; 6] = ["read", "write", "recvfrom", "sendto", "epoll_wait", "futex"];

/// What `switchcost limits PROGRAM` said.
fn limits_of<'a>(lines: &'a [Json], program: &str) -> anyhow::Result<&'a Json> {
    line(lines, |line| line["programs"][0]["program"] == *program)
}

/// What is told of each run of a program, in their order. The share of the CPUs that it kept busy follows from its times.
fn runs(lines: &[Json], name: &str, part: &str) -> anyhow::Result<Vec<f64>> {
    let of_run = |line: &Json, part: &str| {
        line[part].as_f64().with_context(|| format!("a run has no {part}"))
    };
    let is_run = |line: &&Json| line["name"] == *name && line.get("run").is_some();
    let runs: Vec<f64> = lines
        .iter()
        .filter(is_run)
        .map(|line| match part {
            "busy CPUs" => {
                let [user, system, elapsed] =
                    ["user_ns", "system_ns", "ns"].map(|part| of_run(line, part));
                Ok((user? + system?) / elapsed?)
            }
            _ => of_run(line, part),
        })
        .collect::<anyhow::Result<_>>()?;
    ensure!(!runs.is_empty(), "no run has that name");
    Ok(runs)
}

fn quantity(part: &str) -> Option<Quantity> {
    match part.rsplit('_').next() {
        Some("ns") => Some(Quantity::Time),
        Some("bytes") => Some(Quantity::Bytes),
        _ => None,
    }
}

/// The quotient of as many runs of two programs, each by the run of the same number.
fn ratio(values: &[f64], divisors: &[f64]) -> anyhow::Result<Value> {
    ensure!(values.len() == divisors.len(), "they ran not equally often");
    let ratios: Vec<f64> = values.iter().zip(divisors).map(|(a, b)| a / b).collect();
    mean(&ratios, None)
}

/// The geometric mean of a few runs, with its interval.
fn mean(values: &[f64], quantity: Option<Quantity>) -> anyhow::Result<Value> {
    let mean = Estimate::geometric_mean(values).context("it takes two runs, and none of zero")?;
    Ok(Value::estimated(mean, quantity, Grade::Sure))
}

/// Times of a program of others, and of ours in turns with it.
fn sides(lines: &[Json], name: &str, placement: &str) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let placement = if placement == "unpinned" { "" } else { placement };
    let line = line(lines, |line| line["name"] == *name && line["placement"] == *placement)?;
    let times = |side: &str| serde_json::from_value::<Vec<f64>>(line[side].clone());
    let (theirs, ours) = (times("theirs_ns")?, times("ours_ns")?);
    ensure!(ours.len() == theirs.len(), "a pair lacks one of its sides");
    Ok((theirs, ours))
}

/// A program of others in turns with ours: the median of ours ÷ theirs, and the range of the pairs.
fn pairs(lines: &[Json], name: &str, placement: &str) -> anyhow::Result<Value> {
    let (theirs, ours) = sides(lines, name, placement)?;
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let estimate = stats::median(&ratios).context("no pairs")?;
    let (low, high) =
        ratios.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
    let interval = Interval { estimate, low, high, n: ratios.len(), confidence: 1.0 };
    Ok(Value::estimated(Estimate::from(interval), None, Grade::Sure))
}

/// How many of Tokio's own benchmarks changed by criterion's verdict, and the one that changed most.
fn criterion(lines: &[Json], from: &str, to: &str) -> anyhow::Result<String> {
    let compared: Vec<&Json> =
        lines.iter().filter(|line| line["from"] == *from && line["to"] == *to).collect();
    ensure!(!compared.is_empty(), "criterion did not compare {from} and {to}");
    let change = |line: &Json| line["change"].as_f64().unwrap_or(0.0);
    let changed: Vec<&Json> =
        compared.iter().filter(|line| line["verdict"] != "none").copied().collect();
    let largest = changed.iter().max_by(|a, b| change(a).abs().total_cmp(&change(b).abs()));
    let largest = largest.map(|line| {
        let function = line["function"].as_str().unwrap_or_default();
        format!(", {} in {function}", signed(change(line)))
    });
    Ok(format!("{} of {}{}", changed.len(), compared.len(), largest.unwrap_or_default()))
}
