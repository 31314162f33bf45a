//! docs/claims.toml: what others claim, judged by the figures of this repository.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, bail, ensure};
use figures::claims::{Rule, theirs};
use figures::value::{Form, Value};
use regex_lite::Regex;
use serde::{Deserialize, Deserializer};

use crate::found::Found;
use crate::markdown;
use crate::query;
use crate::records::Records;

/// All claims.
#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    claim: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
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
        let headlines = self.claim.iter().filter(|claim| claim.headline);
        markdown::table(&HEAD, " --- |", &lines(headlines, records)?)
    }

    /// All claims with their verdicts, as CSV.
    pub(crate) fn csv(&self, records: &Records) -> anyhow::Result<String> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(HEAD)?;
        for line in lines(self.claim.iter(), records)? {
            csv.write_record(line)?;
        }
        Ok(String::from_utf8(csv.into_inner()?)?)
    }
}

/// A line of cells for each claim.
fn lines<'a>(
    claims: impl Iterator<Item = &'a Claim>,
    records: &Records,
) -> anyhow::Result<Vec<Vec<String>>> {
    let named = |claim: &Claim| format!("{FILE}: {}", claim.text);
    claims.map(|claim| claim.cells(records).with_context(|| named(claim))).collect()
}

impl Claim {
    /// The source, the claim, their figure, ours, and the verdict with its remark.
    fn cells(&self, records: &Records) -> anyhow::Result<Vec<String>> {
        let (here, verdict) = match (&self.here[..], self.rule, &self.takes) {
            ([], None, Some(takes)) => (String::new(), format!("cannot be judged here: {takes}")),
            (_, Some(rule), None) => {
                let (values, texts) = self.figures(records)?;
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
        let verdict = format!("{verdict}{note}");
        Ok(vec![self.author.clone(), self.text.clone(), quotation, here, verdict])
    }

    /// Our values, and each as it is shown behind its label.
    fn figures(&self, records: &Records) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
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

/// What may have digits: code, and words in parentheses.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new(r"`[^`]*`|\([^)]*\)").unwrap()
});

/// True if a text has other digits: figures come from records.
fn has_digits(text: &str) -> bool {
    QUOTED.replace_all(text, "").contains(|c: char| c.is_ascii_digit())
}

/// A number with three significant digits.
fn three_digits(value: f64) -> String {
    let decimals = (2 - value.abs().log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$}")
}
