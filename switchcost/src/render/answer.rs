//! The answer as text: at most 20 lines of 80 columns.

use std::io::{self, Write};

use super::markdown::escaped;
use crate::answer::{Answer, number, short};
use stats::Estimate;

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Writes the answer for a terminal.
///
/// # Errors
/// Errors of the writer.
pub fn text(answer: &Answer, out: &mut Vec<u8>) -> io::Result<()> {
    if let Some(busy) = &answer.busy {
        wrapped(busy, out)?;
        writeln!(out)?;
    }
    wrapped(&answer.machine, out)?;
    let head = ["OS thread", "async task", "thread ÷ task"];
    let names = answer.rows.iter().map(|row| row.name.chars().count());
    let width = names.max().unwrap_or(0).max(29);
    writeln!(out, "\n{:<width$}{:>12}{:>12}   {}", "", head[0], head[1], head[2])?;
    for row in &answer.rows {
        let [thread, task] = [row.thread, row.task].map(|figure| short(row.quantity, figure));
        let ratio = ratio(&row.ratio);
        writeln!(out, "{:<width$}{thread:>12}{task:>12}   {ratio}", row.name)?;
    }
    writeln!(out)?;
    for line in answer.matters.iter().chain(&answer.trust) {
        wrapped(line, out)?;
    }
    Ok(())
}

/// Writes the answer as Markdown.
///
/// # Errors
/// Errors of the writer.
pub fn markdown(answer: &Answer, out: &mut Vec<u8>) -> io::Result<()> {
    if let Some(busy) = &answer.busy {
        writeln!(out, "**{}**\n", escaped(busy))?;
    }
    writeln!(out, "| {} | OS thread | async task | thread ÷ task |", escaped(&answer.machine))?;
    writeln!(out, "| --- | ---: | ---: | :--- |")?;
    for row in &answer.rows {
        let [thread, task] = [row.thread, row.task].map(|figure| short(row.quantity, figure));
        let (name, ratio) = (escaped(&row.name), ratio(&row.ratio));
        writeln!(out, "| {name} | {thread} | {task} | {} |", escaped(&ratio))?;
    }
    writeln!(out)?;
    let lines: Vec<&str> = answer.matters.iter().chain(&answer.trust).map(String::as_str).collect();
    writeln!(out, "{}", escaped(&lines.join(" ")))
}

/// A ratio with its interval.
pub fn ratio(ratio: &Estimate) -> String {
    match ratio.interval {
        Some(i) => format!("{}x [{}, {}]", number(ratio.value), number(i.low), number(i.high)),
        None => format!("{}x (n = {})", number(ratio.value), ratio.n),
    }
}

/// Writes a text in lines that a terminal has room for.
fn wrapped(text: &str, out: &mut Vec<u8>) -> io::Result<()> {
    let mut line = String::new();
    // A number keeps its sign.
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{}", line.replace('\u{a0}', " "))?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{}", line.replace('\u{a0}', " "))
}
