//! A flag that the rows of a section run over, which makes curves of them.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use observe::affinity;

/// A flag and its values: each row and column is run with each of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlagValues {
    /// The flag, with its dashes.
    pub flag: String,
    /// Its values, ascending; `"cpus"` are 1, 2, 4 and so on up to the CPUs that the runner may use, these, and
    /// twice as many.
    #[serde(deserialize_with = "values")]
    pub values: Vec<u64>,
    /// Unit of the values as typed, such as `us`; empty for plain numbers.
    #[serde(default)]
    pub unit: String,
}

fn values<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<u64>, D::Error> {
    let values = toml::Value::deserialize(text)?;
    match values.as_str() {
        None => Vec::deserialize(values).map_err(D::Error::custom),
        Some("cpus") => match affinity::allowed() {
            Ok(cpus) => Ok(chains(cpus.len() as u64)),
            Err(e) => Err(D::Error::custom(format!("cannot read the CPU affinity: {e}"))),
        },
        Some(word) => Err(D::Error::custom(format!("'{word}': write a list, or \"cpus\""))),
    }
}

/// Numbers of chains for so many CPUs.
fn chains(cpus: u64) -> Vec<u64> {
    let powers = (0..u64::BITS).map(|power| 1 << power).take_while(|&count| count < cpus);
    powers.chain([cpus, 2 * cpus]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_go_up_to_twice_the_cpus() {
        assert_eq!(chains(6), [1, 2, 4, 6, 12]);
    }
}
