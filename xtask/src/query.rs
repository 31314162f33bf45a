//! A definition: a query on a file in results/, or the difference or quotient of two, and what is shown of it.

use anyhow::{Context, anyhow, bail, ensure};
use figures::claims::quantity;
use figures::number::percent;
use figures::part::Part;
use figures::quotient::Kind;
use figures::session_spread::Spread;
use figures::spread::Held;
use figures::value::{Form, Value};
use figures::{Figure, Figures, spread, unique};
use switchcost::views::comparison::Comparison;

use crate::law::Law;
use crate::others;
use crate::records::{File, Records};

/// What a query finds.
pub(crate) enum Found {
    Value(Value),
    /// A machine, or what a program printed.
    Text(String),
}

/// A definition as it is shown in a document, or a text in quotes as it is, and whether it is a number: a text stands in backticks.
///
/// # Errors
/// It cannot be read, or there is no such figure.
pub(crate) fn shown(definition: &str, records: &Records) -> anyhow::Result<(String, bool)> {
    if let Some(text) = definition.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Ok((text.to_owned(), false));
    }
    let (expression, form) = expression_and_form(definition)?;
    Ok(match evaluate(expression, records)? {
        Found::Value(value) => {
            let text = value.show(form).map_err(|why| anyhow!("{definition}: {why}"))?;
            (text, true)
        }
        Found::Text(text) => (text, false),
    })
}

/// A definition as a plot shows it: a share in per cent is a hundred times as large.
///
/// # Errors
/// It cannot be read, there is no such figure, or it is a text.
pub(crate) fn plotted(definition: &str, records: &Records) -> anyhow::Result<Value> {
    let (expression, form) = expression_and_form(definition)?;
    let Found::Value(value) = evaluate(expression, records)? else {
        bail!("{definition}: a text has no place in a plot")
    };
    if form != Form::Percent {
        return Ok(value);
    }
    value.times(&Value::exact(100.0, None)).map_err(|why| anyhow!("{definition}: {why}"))
}

fn expression_and_form(definition: &str) -> anyhow::Result<(&str, Form)> {
    Ok(match definition.rsplit_once(" | ") {
        Some((expression, form)) => (expression, serde_json::from_value(form.into())?),
        None => (definition, Form::Value),
    })
}

/// Signs between two operands.
const SIGNS: [&str; 3] = [" ÷ ", " - ", " × "];

/// Finds a figure, or forms the quotient, the difference or the multiple of two.
pub(crate) fn evaluate(expression: &str, records: &Records) -> anyhow::Result<Found> {
    let Some((first, sign, second)) = parts(expression)? else {
        return operand(expression, records);
    };
    let value = |text: &str| match operand(text, records)? {
        Found::Value(value) => Ok(value),
        Found::Text(_) => Err(anyhow!("'{text}' is a text")),
    };
    // `8 MiB ÷ 1 MiB` may mean two rows.
    let unit = quantity(second).filter(|_| is_number(second)).and_then(|(_, unit, _)| unit);
    ensure!(sign != " ÷ " || unit.is_none(), "{expression}: write the second query in full");
    let (first, second) = (value(first)?, value(&in_full(second, first))?);
    let value = match sign {
        " ÷ " => first.divided_by(&second),
        " - " => first.less(&second),
        _ => first.times(&second),
    };
    Ok(Found::Value(value.map_err(|why| anyhow!("{expression}: {why}"))?))
}

/// A second operand that names no file is of the first one's file and section.
fn in_full(second: &str, first: &str) -> String {
    let is_query = |text: &str| text.split_once(": ").is_some_and(|(file, _)| is_file(file));
    if second.starts_with('(') || is_number(second) || is_query(second) {
        return second.to_owned();
    }
    match first.split_once(" / ") {
        Some((section, _)) if is_query(first) => format!("{section} / {second}"),
        _ => second.to_owned(),
    }
}

fn is_number(operand: &str) -> bool {
    operand.starts_with(|c: char| c.is_ascii_digit())
}

/// True of `MACHINE/FILE`.
fn is_file(text: &str) -> bool {
    text.contains('/') && !text.contains(' ')
}

/// Both sides of the sign outside of parentheses; `None` without any.
fn parts(expression: &str) -> anyhow::Result<Option<(&str, &str, &str)>> {
    let mut depth = 0;
    let mut found = None;
    for (place, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        let rest = &expression[place..];
        if depth == 0
            && let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign))
        {
            ensure!(found.is_none(), "{expression}: put two of the operands in parentheses");
            found = Some((&expression[..place], sign, &rest[sign.len()..]));
        }
    }
    ensure!(depth == 0, "{expression}: a parenthesis has no other side");
    Ok(found)
}

/// Something in parentheses, a number with its unit, or a query.
fn operand(text: &str, records: &Records) -> anyhow::Result<Found> {
    if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        return evaluate(inner, records);
    }
    if is_number(text) {
        let (number, quantity, rest) = quantity(text).context("no number")?;
        ensure!(rest.is_empty(), "'{text}' is no number with a unit");
        return Ok(Found::Value(Value::exact(number, quantity)));
    }
    let (file, path) =
        text.split_once(": ").filter(|(file, _)| is_file(file)).with_context(|| {
            format!("'{text}' is no query: write MACHINE/FILE: SECTION / ROW / COLUMN")
        })?;
    let path: Vec<&str> = path.split(" / ").collect();
    found(file, &path, records).with_context(|| text.to_owned())
}

/// A count that the machine does not offer, or that was not made.
const UNKNOWN: &str = "–";
const HIDDEN: &str = "not distinguishable from 0";

fn found(file: &str, path: &[&str], records: &Records) -> anyhow::Result<Found> {
    if let Some(machine) = file.strip_suffix("/law") {
        return Law { records, machine }.found(path);
    }
    if file == "all/sessions" {
        return between_sessions(records, path);
    }
    let contents = records.get(file)?;
    match (contents, path) {
        (_, ["machine"]) => {
            contents.machine().map(Found::Text).context("the file names no machine")
        }
        (File::Figures { figures, .. }, ["idle driver"]) => {
            let first = figures.records.first();
            let driver = first.and_then(|first| first.machine().text("idle_driver"));
            let driver = driver.map(str::to_owned);
            Ok(Found::Text(driver.unwrap_or_else(|| UNKNOWN.to_owned())))
        }
        (File::Figures { answer: Some(answer), .. }, ["answer", row]) => {
            let row = answer.rows.iter().find(|answered| answered.name == *row);
            Ok(Found::Value(row.context("the answer has no such row")?.ratio.clone()))
        }
        (File::Figures { figures, .. }, path) => of_figures(figures, path),
        (File::Duel(comparison), path) => of_duel(comparison, path),
        (File::Lines(lines), path) => others::found(file, lines, path),
    }
}

/// A figure by section, row, column, value of the swept flag, and part.
fn of_figures(figures: &Figures<'_>, path: &[&str]) -> anyhow::Result<Found> {
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
        let most = measured.filter_map(|figure| figure.place().x).max();
        return Ok(Found::Value(Value::count(most.context("nothing is swept")? as f64)));
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
fn between_sessions(records: &Records, path: &[&str]) -> anyhow::Result<Found> {
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
fn of_duel(comparison: &Comparison, path: &[&str]) -> anyhow::Result<Found> {
    let [what, name] = path else { bail!("ask a duel for time / ROW or switches / ROW") };
    let row = comparison.rows.iter().find(|row| row.name == *name);
    let row = row.with_context(|| format!("the duel has no row '{name}'"))?;
    let kind = match *what {
        "time" => Kind::Time,
        "memory" => Kind::Memory,
        "switches" => Kind::Switches,
        _ => bail!("a duel has time, memory and switches"),
    };
    let quotient = row.quotient(kind);
    let quotient = quotient.with_context(|| format!("it has no {what}"))?;
    Ok(Found::Value(quotient.ratio().context("there is no change")?))
}

/// A change in per cent with its sign.
pub(crate) fn signed(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(change))
}
