//! Rows over the number of chains: as many as this machine has CPUs for.

use anyhow::{Context, ensure};

use super::{Plan, Row};
use crate::plan::scheduling::Cpus;

/// Puts rows for each number of chains in place of those that stand for them. The CPUs are those that the runner may
/// use.
pub(super) fn unfold_rows(plan: &mut Plan) -> anyhow::Result<()> {
    for section in &mut plan.sections {
        if section.rows.iter().all(|row| !row.chains) {
            continue;
        }
        let cpus = Cpus::allowed().context("cannot read the CPU affinity")?.list().len() as u64;
        section.rows = section.rows.iter().flat_map(|row| unfold(row, cpus)).collect();
        let title = &section.title;
        for (place, row) in section.rows.iter().enumerate() {
            let is_new = section.rows[..place].iter().all(|other| other.name != row.name);
            ensure!(is_new, "section '{title}': chains: two rows are named '{}'", row.name);
        }
    }
    Ok(())
}

/// The rows that one stands for on so many CPUs; of any other row, itself.
fn unfold(row: &Row, cpus: u64) -> Vec<Row> {
    if !row.chains {
        return vec![row.clone()];
    }
    let name = |chains: u64| format!("{}: {chains}", row.name);
    let rows = counts(cpus).into_iter().map(|chains| {
        let mut row = Row { name: name(chains), chains: false, ..row.clone() };
        row.versus = (chains > 1).then(|| name(1));
        row.flags.extend(["--chains".to_owned(), chains.to_string()]);
        row
    });
    rows.collect()
}

/// Numbers of chains: powers of two below the number of CPUs, this number, and twice as many.
fn counts(cpus: u64) -> Vec<u64> {
    let powers = (0..u64::BITS).map(|power| 1 << power).take_while(|&count| count < cpus);
    powers.chain([cpus, 2 * cpus]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_for_numbers_of_chains_up_to_twice_the_cpus() {
        assert_eq!(counts(1), [1, 2]);
        assert_eq!(counts(2), [1, 2, 4]);
        assert_eq!(counts(6), [1, 2, 4, 6, 12]);
        assert_eq!(counts(192), [1, 2, 4, 8, 16, 32, 64, 128, 192, 384]);
        let text = "rounds=1\n[[section]]\ntitle='t'\nmetric='hop-rate'\n[[section.row]]\nname='pairs'\n\
                    program='p'\nflags=['--a']\niters=1\nwarmup=0\n";
        let folded = format!("{text}chains=true\n");
        let row = &toml::from_str::<Plan>(&folded).unwrap().sections[0].rows[0];
        let rows = unfold(row, 2);
        let seen = rows.iter().map(|row| (&*row.name, row.flags.join(" "), row.versus.as_deref()));
        let [one, two, four] = &seen.collect::<Vec<_>>()[..] else { panic!("three rows expected") };
        assert_eq!(*one, ("pairs: 1", "--a --chains 1".to_owned(), None));
        assert_eq!(*two, ("pairs: 2", "--a --chains 2".to_owned(), Some("pairs: 1")));
        assert_eq!(*four, ("pairs: 4", "--a --chains 4".to_owned(), Some("pairs: 1")));
        let plan = Plan::parse(&folded).unwrap();
        assert_eq!(
            plan.sections[0].rows.len(),
            counts(Cpus::allowed().unwrap().list().len() as u64).len()
        );
        assert_eq!(Plan::parse(text).unwrap().sections[0].rows[0].name, "pairs");
        for (more, reason) in [
            ("versus='r'\n", "refers to 'r'"),
            (
                "[[section.row]]\nname='r'\nprogram='p'\niters=1\nwarmup=0\nchains=true\nversus='pairs'\n",
                "drop versus",
            ),
            (
                "[[section.row]]\nname='pairs: 1'\nprogram='p'\niters=1\nwarmup=0\n",
                "two rows are named",
            ),
        ] {
            let error = format!("{:#}", Plan::parse(&format!("{folded}{more}")).unwrap_err());
            assert!(error.contains(reason), "{more}: {error}");
        }
    }
}
