//! A definition: a query on a file in results/, or the difference or quotient of two, and what is shown of it.

use anyhow::{Context, anyhow, bail, ensure};
use figures::claims::quantity;
use figures::value::{Form, Value};

use crate::found::Found;
use crate::law::Law;
use crate::lookup::{self, UNKNOWN};
use crate::others;
use crate::records::{File, Records};

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
    figure(file, &path, records).with_context(|| text.to_owned())
}

fn figure(file: &str, path: &[&str], records: &Records) -> anyhow::Result<Found> {
    if let Some(machine) = file.strip_suffix("/law") {
        return Law { records, machine }.figure(path);
    }
    if file == "all/sessions" {
        return lookup::between_sessions(records, path);
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
        (File::Figures { figures, .. }, path) => lookup::of_figures(figures, path),
        (File::Duel(comparison), path) => lookup::of_duel(comparison, path),
        (File::Lines(lines), path) => others::figure(file, lines, path),
    }
}
