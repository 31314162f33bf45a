//! An analysis as one page that needs no other file, no script and no network.

use std::io::{self, Write};

use jiff::Timestamp;
use record::Record;

mod details;
mod facts;
mod figures;
mod markup;

pub(super) use markup::{Escaped, Figure};

use super::plot;
use super::provenance;
use crate::analysis::Analysis;

const CSS: &str = include_str!("page.css");

/// Writes an analysis as a page.
///
/// # Errors
/// Errors of the writer.
pub fn html(analysis: &Analysis, records: &[Record], out: &mut impl Write) -> io::Result<()> {
    head(out)?;
    heading(analysis, records, out)?;
    for table in &analysis.tables {
        figures::table(table, out)?;
    }
    figures::reaches(&analysis.reaches, out)?;
    for curve in &analysis.curves {
        figures::curve(curve, out)?;
    }
    writeln!(
        out,
        "<section>\n<h2>Every case</h2>\n\
         <p>Times of iterations, divided by their hops or tasks: medians over the processes, \
         except for the shortest (min) and the longest (max) of all. The 99th percentile of an iteration is not that of \
         a hop. Outliers are process means outside Tukey's fences; they are counted and kept. Any other \
         figure has its median alone. A/A \
         is a case divided by its own second run in each round.</p>"
    )?;
    details::cases(records, out)?;
    writeln!(out, "</section>")?;
    if let Some(first) = records.first() {
        machine(first, out)?;
    }
    if let Some(first) = records.first() {
        build(first, records, out)?;
    }
    warnings(analysis, out)?;
    repeat(records, out)?;
    how_to_read(out)?;
    writeln!(out, "</main>\n</body>\n</html>")
}

fn head(out: &mut impl Write) -> io::Result<()> {
    // Should an escape ever be forgotten, the policy keeps the page from running or loading a thing.
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
         form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>What a thread and an async task cost</title>\n<style>\n\
         :root{{color-scheme:light dark;--well:#F3F5F7;{}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{--well:#1C2229;{}}}}}\n{}{CSS}\
         </style>\n</head>\n<body>\n<main>",
        plot::variables(false),
        plot::variables(true),
        plot::rules(),
    )
}

fn heading(analysis: &Analysis, records: &[Record], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<header>\n<h1>What a thread and an async task cost</h1>")?;
    for line in provenance(records) {
        let line = Escaped(&line);
        match line.0.starts_with("!!") {
            true => writeln!(out, "<p><strong>{line}</strong></p>")?,
            false => writeln!(out, "<p class=\"where\">{line}</p>")?,
        }
    }
    let started = records.iter().map(|record| record.started).min();
    let at = started.and_then(|ms| Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok());
    if let Some(at) = at {
        let at = at.strftime("%Y-%m-%d %H:%M UTC");
        writeln!(out, "<p class=\"where\">Measured by switchcost, {at}.</p>")?;
    }
    let warnings = match analysis.warnings.len() {
        0 => String::new(),
        1 => " <a href=\"#warnings\">One warning</a> applies.".to_owned(),
        n => format!(" <a href=\"#warnings\">{n} warnings</a> apply."),
    };
    writeln!(out, "<p class=\"where\">In brackets: 95 % intervals.{warnings}</p>\n</header>")
}

fn list(facts: &[(String, String)], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<dl>")?;
    for (name, value) in facts {
        writeln!(out, "<dt>{}</dt><dd>{}</dd>", Escaped(name), Escaped(value))?;
    }
    writeln!(out, "</dl>")
}

fn machine(first: &Record, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>The machine</h2>")?;
    list(&facts::facts(first.machine()), out)?;
    let mitigations = facts::mitigations(first.machine());
    if !mitigations.is_empty() {
        writeln!(out, "<details>\n<summary>Mitigations of the CPU's weaknesses</summary>")?;
        let mitigations: Vec<(String, String)> = mitigations
            .into_iter()
            .map(|(name, state)| (name.to_owned(), state.to_owned()))
            .collect();
        list(&mitigations, out)?;
        writeln!(out, "</details>")?;
    }
    writeln!(out, "</section>")
}

fn build(first: &Record, records: &[Record], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>The build</h2>")?;
    let mut facts = facts::facts(first.build());
    for runtime in facts::runtimes(records) {
        facts.push(("Runtime".to_owned(), runtime));
    }
    list(&facts, out)?;
    writeln!(out, "</section>")
}

fn warnings(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<section id=\"warnings\">\n<h2>Warnings</h2>\n<ul class=\"warnings\">")?;
    if let Some((name, floor)) = analysis.noise_floor() {
        writeln!(
            out,
            "<li>Two equal runs differ by up to {:.1} % ({}): a smaller difference is noise.</li>",
            floor * 100.0,
            Escaped(&name)
        )?;
    }
    for warning in &analysis.warnings {
        writeln!(out, "<li>{}.</li>", Escaped(warning))?;
    }
    if analysis.warnings.is_empty() {
        writeln!(out, "<li>The records give no cause for any.</li>")?;
    }
    writeln!(out, "</ul>\n</section>")
}

fn repeat(records: &[Record], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>To repeat it</h2>")?;
    writeln!(out, "<p>The same cases in the same order:</p>\n<pre>")?;
    for command in details::runs(records) {
        writeln!(out, "{}", Escaped(&command))?;
    }
    writeln!(out, "</pre>")?;
    writeln!(
        out,
        "<details>\n<summary>Each case by itself</summary>\n\
         <p>The programs lie in <code>target/release</code>.</p>\n<pre>\n{}</pre>\n</details>\n\
         </section>",
        Escaped(&details::commands(records))
    )
}

fn how_to_read(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "<section>\n<h2>How to read it</h2>\n\
         <p>A task hands a token to the next: that is a hop. The process is the sample: each case \
         ran in fresh processes, once a round, in shuffled order, and an interval covers the mean \
         of such processes with 95 % confidence. Differences and ratios were taken inside each \
         round. An interval that touches zero, or one for a ratio, is not distinguishable from no \
         difference. Where the processes fell into two groups, both are told, because their mean \
         describes neither. Bytes per task are the slope of a line over several task counts. No \
         run was dropped. docs/METHODOLOGY.md says how and why.</p>\n</section>"
    )
}
