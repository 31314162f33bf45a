//! docs/claims.toml: what others claim, judged by the figures of this repository.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use figures::claims::{Rule, theirs};
use figures::value::{Form, Value};
use serde::{Deserialize, Deserializer};

use crate::query::{self, Found};
use crate::records::Records;

/// All claims.
#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    claim: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// Whose claim it is.
    author: String,
    /// CLAIMS.md shows it.
    #[serde(default)]
    headline: bool,
    text: String,
    /// Their figure as they quote it.
    theirs: String,
    /// Our figures: queries, each behind its label.
    #[serde(default, deserialize_with = "queries")]
    here: Vec<[String; 2]>,
    rule: Option<Rule>,
    /// What could judge it, if nothing here can.
    takes: Option<String>,
    #[serde(default)]
    note: String,
}

pub(crate) const FILE: &str = "docs/claims.toml";

/// One query, or several behind their labels.
fn queries<'de, D: Deserializer<'de>>(toml: D) -> Result<Vec<[String; 2]>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Here {
        One(String),
        Several(Vec<[String; 2]>),
    }
    Ok(match Here::deserialize(toml)? {
        Here::One(query) => vec![[String::new(), query]],
        Here::Several(all) => all,
    })
}

const HEAD: [&str; 5] = ["source", "claim", "theirs", "here", "verdict"];

impl Claims {
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        toml::from_str(&text).context(FILE)
    }

    /// The headlines with their verdicts, as a table.
    pub(crate) fn headlines(&self, records: &Records) -> anyhow::Result<String> {
        let mut table = format!("| {} |\n|{}\n", HEAD.join(" | "), " --- |".repeat(HEAD.len()));
        for claim in self.claim.iter().filter(|claim| claim.headline) {
            let cells = claim.cells(records)?;
            let broken = cells.iter().any(|cell| cell.contains('|'));
            ensure!(!broken, "a | ends its table's cell: {}", claim.text);
            table += &format!("| {} |\n", cells.join(" | "));
        }
        Ok(table)
    }

    /// All claims with their verdicts, as CSV.
    pub(crate) fn csv(&self, records: &Records) -> anyhow::Result<String> {
        let mut lines = csv::Writer::from_writer(Vec::new());
        lines.write_record(HEAD)?;
        for claim in &self.claim {
            lines.write_record(claim.cells(records)?)?;
        }
        Ok(String::from_utf8(lines.into_inner()?)?)
    }
}

impl Claim {
    /// The source, the claim, their figure, ours, and the verdict with its remark.
    fn cells(&self, records: &Records) -> anyhow::Result<[String; 5]> {
        let judged = self.judged(records).with_context(|| format!("{FILE}: {}", self.text))?;
        let [theirs, here, verdict] = judged;
        Ok([self.author.clone(), self.text.clone(), theirs, here, verdict])
    }

    /// Their figure, ours, and the verdict with its remark.
    fn judged(&self, records: &Records) -> anyhow::Result<[String; 3]> {
        let (here, verdict) = match (&self.here[..], self.rule, &self.takes) {
            ([], None, Some(takes)) => (String::new(), format!("cannot be judged here: {takes}")),
            (_, Some(rule), None) => {
                let (values, texts) = self.found(records)?;
                ensure!(!has_digits(&self.note), "a figure in the note");
                (texts.join("; "), rule.judge(&self.theirs, &values)?)
            }
            _ => bail!("it takes a rule and figures, or else says what could judge it"),
        };
        let note = if self.note.is_empty() { String::new() } else { format!("; {}", self.note) };
        let quotation = match theirs(&self.theirs) {
            Some(quotient) if self.theirs.contains(" ÷ ") => {
                format!("{} ({})", three_digits(quotient), self.theirs)
            }
            _ => self.theirs.clone(),
        };
        Ok([quotation, here, format!("{verdict}{note}")])
    }

    /// Our values, and each as it is shown behind its label.
    fn found(&self, records: &Records) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
        let (mut values, mut texts) = (Vec::new(), Vec::new());
        for [label, query] in &self.here {
            ensure!(!has_digits(label), "a figure in the label '{label}'");
            let Found::Value(value) = query::evaluate(query, records)? else {
                bail!("{query} is a text")
            };
            let space = if label.is_empty() { "" } else { " " };
            texts.push(format!(
                "{label}{space}{}",
                value.show(Form::Interval).map_err(anyhow::Error::msg)?
            ));
            values.push(value);
        }
        Ok((values, texts))
    }
}

/// True if a text has digits outside of code and of parentheses: figures come from records.
fn has_digits(text: &str) -> bool {
    let mut depth = 0;
    let mut is_code = false;
    text.chars().any(|c| {
        match c {
            '`' => is_code = !is_code,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c.is_ascii_digit() && depth == 0 && !is_code
    })
}

/// A number with three significant digits.
fn three_digits(value: f64) -> String {
    let decimals = (2 - value.abs().log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$}")
}
