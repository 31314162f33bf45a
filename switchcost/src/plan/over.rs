//! A flag that the cases of a section run over, which makes curves of them.

use std::sync::Arc;

use anyhow::ensure;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{Case, ensure_no_runner_flags};
use crate::plan::scheduling::Cpus;

/// A flag and its values: each row and column is run with each of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Over {
    /// The flag, with its dashes.
    flag: String,
    /// Its values, ascending; `"cpus"` are 1, 2, 4 and so on up to the CPUs that the runner may use, these, and
    /// twice as many.
    #[serde(deserialize_with = "values")]
    values: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    List(Vec<u64>),
    Word(String),
}

fn values<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<u64>, D::Error> {
    match Values::deserialize(text)? {
        Values::List(values) => Ok(values),
        Values::Word(word) if word == "cpus" => match Cpus::allowed() {
            Ok(cpus) => Ok(chains(cpus.list().len() as u64)),
            Err(e) => Err(D::Error::custom(format!("cannot read the CPU affinity: {e}"))),
        },
        Values::Word(word) => Err(D::Error::custom(format!("'{word}': a list, or \"cpus\""))),
    }
}

/// Numbers of chains for so many CPUs.
fn chains(cpus: u64) -> Vec<u64> {
    let powers = (0..u64::BITS).map(|power| 1 << power).take_while(|&count| count < cpus);
    powers.chain([cpus, 2 * cpus]).collect()
}

impl Over {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let name = self.flag.strip_prefix("--").unwrap_or_default();
        ensure!(!name.is_empty(), "over: flag is one such as --load");
        ensure_no_runner_flags(std::slice::from_ref(&self.flag))?;
        let is_ascending = self.values.is_sorted_by(|a, b| a < b);
        ensure!(is_ascending && self.values.len() > 1, "over: at least two values, ascending");
        Ok(())
    }

    /// Number of its values.
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    /// The points of a case.
    pub(super) fn points(&self, case: &Case) -> Vec<Case> {
        let point = |&x: &u64| {
            let mut point = Case { x: Some(x), ..case.clone() };
            point.flags.extend([self.flag.clone(), x.to_string()]);
            let over = self.flag.trim_start_matches('-').replace('-', "_");
            Arc::make_mut(&mut point.cell).over = Some(over);
            point
        };
        self.values.iter().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn a_section_runs_over_a_flag() {
        assert_eq!(chains(1), [1, 2]);
        assert_eq!(chains(2), [1, 2, 4]);
        assert_eq!(chains(6), [1, 2, 4, 6, 12]);
        let plan = |over: &str| {
            Plan::parse(&format!(
                "rounds=1\n[[section]]\ntitle='t'\nmetric='hop'\nover={over}\n[[section.row]]\nname='r'\n\
                 program='p'\nflags=['--a']\niters=1\nwarmup=0\ntwin=true\n"
            ))
        };
        let cases = plan("{flag='--load', values=[10, 95]}").unwrap().cases(false);
        let of = |case: &Case| (case.flags.join(" "), case.x, case.twin);
        let load = |x: u64, twin| (format!("--a --load {x}"), Some(x), twin);
        let expected = [load(10, true), load(10, false), load(95, true), load(95, false)];
        assert_eq!(cases.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(cases[0].cell.over.as_deref(), Some("load"));
        assert!(plan("{flag='--chains', values='cpus'}").unwrap().cases(false).len() >= 4);
        for (over, reason) in [
            ("{flag='--load', values=[10]}", "at least two values"),
            ("{flag='--load', values=[10, 10]}", "ascending"),
            ("{flag='--load', values='all'}", "'all'"),
            ("{flag='load', values=[1, 2]}", "such as --load"),
            ("{flag='--iters', values=[1, 2]}", "the runner's own"),
        ] {
            let error = format!("{:#}", plan(over).unwrap_err());
            assert!(error.contains(reason), "{over}: {error}");
        }
    }
}
