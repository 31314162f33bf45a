//! How figures are put in groups and together.

use std::collections::BTreeMap;

/// Two sets of values put together at each key that both have.
pub(crate) fn joined<K: Copy + Ord>(
    a: &BTreeMap<K, f64>,
    b: &BTreeMap<K, f64>,
    together: impl Fn(f64, f64) -> f64,
) -> BTreeMap<K, f64> {
    a.iter().filter_map(|(key, value)| Some((*key, together(*value, *b.get(key)?)))).collect()
}

/// Values by their keys, in the order in which the keys first appear.
pub fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Values in the order in which they first appear, each once.
pub fn unique<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let groups = grouped(values.into_iter().map(|value| (value, ())));
    groups.into_iter().map(|(value, _)| value).collect()
}
