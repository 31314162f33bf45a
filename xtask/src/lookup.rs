//! Figures of the runner's own files: of a run, of a duel, and of all sessions.

use anyhow::{Context, anyhow, bail, ensure};
use figures::part::Part;
use figures::quotient::Kind;
use figures::session_spread::Spread;
use figures::spread::Held;
use figures::value::Value;
use figures::{Figure, Figures, spread, unique};
use switchcost::views::comparison::Comparison;

use crate::found::Found;
use crate::records::Records;

/// A count that the machine does not offer, or that was not made.
pub(crate) const UNKNOWN: &str = "–";
const HIDDEN: &str = "not distinguishable from 0";

/// A figure by section, row, column, value of the swept flag, and part.
pub(crate) fn of_figures(figures: &Figures<'_>, path: &[&str]) -> anyhow::Result<Found> {
    let [section, row, rest @ ..] = path else {
        bail!("name a section and a row, with / between them")
    };
    let begins = |figure: &&Figure<'_>| figure.place().section.starts_with(section);
    let is_whole = figures.iter().any(|figure| figure.place().section == *section);
    let mut left: Vec<&Figure<'_>> = figures.iter().filter(begins).collect();
    let sections = || listed(figures.iter().map(|figure| figure.place().section.clone()));
    ensure!(!left.is_empty(), "no section begins so: there are {}", sections());
    left.retain(|figure| !is_whole || figure.place().section == *section);
    let rows = listed(left.iter().map(|figure| figure.place().row.clone()));
    left.retain(|figure| figure.place().row == *row);
    ensure!(!left.is_empty(), "the section has no such row: there are {rows}");
    let (mut part_name, mut has_column, mut is_most) = (None, false, false);
    for part in rest {
        let has = |is: &dyn Fn(&&&Figure<'_>) -> bool| left.iter().any(|figure| is(&figure));
        if has(&|figure| figure.place().column == *part) {
            left.retain(|figure| figure.place().column == *part);
            has_column = true;
        } else if let Ok(x) = part.parse()
            && has(&|figure| figure.place().x == Some(x))
        {
            left.retain(|figure| figure.place().x == Some(x));
        } else if *part == "most" {
            is_most = true;
        } else {
            let unknown = part_name.unwrap_or_default();
            ensure!(part_name.is_none(), "no column or value is '{unknown}'");
            part_name = Some(*part);
        }
    }
    let found = unique(left.iter().map(|figure| &figure.place().section));
    ensure!(found.len() == 1, "several sections begin so: {}", listed(found.into_iter().cloned()));
    if !has_column && left.iter().any(|figure| figure.place().column.is_empty()) {
        left.retain(|figure| figure.place().column.is_empty());
    }
    if is_most {
        ensure!(
            unique(left.iter().map(|figure| &figure.place().column)).len() == 1,
            "name a column"
        );
        let measured = left.iter().filter(|figure| figure.value().is_ok());
        let highest = measured.filter_map(|figure| figure.place().x).max();
        return Ok(Found::Value(Value::count(highest.context("nothing is swept")? as f64)));
    }
    let [figure] = left[..] else {
        let unknown =
            part_name.map_or(String::new(), |name| format!("no column or value is '{name}'; "));
        let names = left.iter().map(|figure| match figure.place().x {
            Some(x) => format!("{} / {x}", figure.place().column),
            None => figure.place().column.clone(),
        });
        bail!("{unknown}name one of {}", listed(names))
    };
    let value = match part_name {
        Some(name) => Part::named(name)
            .and_then(|part| figure.part(part).ok())
            .with_context(|| format!("no column, value or part of it is '{name}'"))?,
        None => Some(figure.value().map_err(|why| anyhow!(why))?),
    };
    Ok(match value {
        None => Found::Text(UNKNOWN.to_owned()),
        // The kernel's share may be less than what the rest of the system did meanwhile.
        Some(value) if part_name == Some("kernel") && value.ends()[1] <= 0.0 => {
            Found::Text(HIDDEN.to_owned())
        }
        Some(value) => Found::Value(value),
    })
}

/// How far sessions of a machine differ, over all machines that have several.
pub(crate) fn between_sessions(records: &Records, path: &[&str]) -> anyhow::Result<Found> {
    let machines = records.machines()?;
    let held = spread::held_out(&machines);
    // Of the machine that has the fewest.
    let least = |kind: usize, of: fn(&Held) -> usize| {
        let shares = held.values().map(|held| of(&held[kind]) as f64 / held[kind].sessions as f64);
        Value::exact(shares.fold(1.0, f64::min), None)
    };
    let Spread { ratios, times, shown, machines } =
        spread::of(machines.values()).context("no machine has several sessions")?;
    Ok(Found::Value(match path {
        ["ratios", "unpinned"] => Value::exact(ratios[0], None),
        ["ratios", "pinned"] => Value::exact(ratios[1], None),
        ["times", "unpinned"] => Value::exact(times[0], None),
        ["times", "pinned"] => Value::exact(times[1], None),
        ["machines"] => Value::count(machines as f64),
        ["shown"] => Value::exact(shown, None),
        ["ratios", "held out"] => least(0, |held| held.held),
        ["times", "held out"] => least(1, |held| held.held),
        ["ratios", "held out without it"] => least(0, |held| held.without),
        ["times", "held out without it"] => least(1, |held| held.without),
        _ => bail!("ask for ratios or times: pinned, unpinned or held out; machines; shown"),
    }))
}

/// Names, each once.
fn listed(names: impl Iterator<Item = String>) -> String {
    unique(names.map(|name| format!("'{name}'"))).join(", ")
}

/// What changed in a row of a duel.
pub(crate) fn of_duel(comparison: &Comparison, path: &[&str]) -> anyhow::Result<Found> {
    let [what, name] = path else { bail!("ask a duel for time / ROW or system calls / ROW") };
    let row = comparison.rows.iter().find(|row| row.name == *name);
    let row = row.with_context(|| format!("the duel has no row '{name}'"))?;
    let kind = match *what {
        "time" => Kind::Time,
        "memory" => Kind::Memory,
        "switches" => Kind::Switches,
        "system calls" => Kind::SystemCalls,
        "peak" => Kind::Peak,
        _ => bail!("a duel has time, memory, switches, system calls and peak"),
    };
    let quotient = row.quotient(kind);
    let quotient = quotient.with_context(|| format!("it has no {what}"))?;
    Ok(Found::Value(quotient.ratio().context("there is no change")?))
}
