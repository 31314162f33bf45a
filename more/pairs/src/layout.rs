//! Layout of the threads of pairs over the CPUs.

use std::str::FromStr;

use brigade::allowed_cpus;
use contract::BadUsage;

/// Layout of the threads of all pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As the kernel decides.
    Free,
    /// A pair on one CPU, the next pair on the next CPU.
    Chain,
    /// Neighbours on different CPUs.
    Spread,
    /// Each thread on the next CPU of this list. The runner uses it to put each pair on two related CPUs.
    On(Vec<usize>),
}

impl FromStr for Layout {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let list = || text.split(',').map(|cpu| cpu.parse().ok()).collect::<Option<Vec<usize>>>();
        Ok(match text {
            "free" => Layout::Free,
            "chain" => Layout::Chain,
            "spread" => Layout::Spread,
            _ => {
                Layout::On(list().filter(|cpus| cpus.len() > 1).ok_or(
                    "write free, chain, spread, or a list of at least two CPUs such as 0,4",
                )?)
            }
        })
    }
}

impl Layout {
    /// A CPU for each thread of each pair, its driver first; none where the kernel decides.
    pub(crate) fn cpus(&self, pairs: u32, ends: u32) -> anyhow::Result<Vec<Vec<Option<usize>>>> {
        let allowed = allowed_cpus()?;
        if let Layout::On(list) = self
            && let Some(cpu) = list.iter().find(|cpu| !allowed.contains(cpu))
        {
            return Err(BadUsage::new(format!(
                "--placement: this process may not use CPU {cpu}: name other CPUs, or allow it by taskset(1)"
            )));
        }
        if *self == Layout::Spread && allowed.len() < 2 {
            return Err(BadUsage::new(
                "--placement: spread needs two CPUs, but this process may use only one: use free, or allow more by taskset(1)",
            ));
        }
        let (pairs, ends) = (pairs as usize, ends as usize);
        Ok((0..pairs)
            .map(|pair| (0..ends).map(|end| self.cpu(pair, end, ends, &allowed)).collect())
            .collect())
    }

    fn cpu(&self, pair: usize, end: usize, ends: usize, allowed: &[usize]) -> Option<usize> {
        let (cpus, place) = match self {
            Layout::Free => return None,
            Layout::Chain => (allowed, pair),
            Layout::Spread => (allowed, pair * ends + end),
            Layout::On(list) => (&list[..], pair * ends + end),
        };
        Some(cpus[place % cpus.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_laid_over_the_cpus_pair_after_pair() {
        let list: Layout = "7,3,5,2".parse().unwrap();
        for (layout, expected) in [
            (Layout::Chain, [[2, 2], [3, 3], [5, 5]]),
            (Layout::Spread, [[2, 3], [5, 2], [3, 5]]),
            (list, [[7, 3], [5, 2], [7, 3]]),
        ] {
            let cpus = [0, 1, 2].map(|pair| [0, 1].map(|end| layout.cpu(pair, end, 2, &[2, 3, 5])));
            assert_eq!(cpus, expected.map(|pair| pair.map(Some)), "{layout:?}");
        }
    }

    #[test]
    fn what_is_no_layout_is_refused() {
        for text in ["", "4", "0-3", "0,,1", "0,-1", "spread,0"] {
            assert!(text.parse::<Layout>().is_err(), "{text}");
        }
        let refused = Layout::On(vec![0, 1 << 20]).cpus(1, 2).unwrap_err();
        assert!(refused.to_string().contains("may not use CPU"), "{refused}");
    }
}
