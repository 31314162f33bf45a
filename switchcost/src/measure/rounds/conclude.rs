//! The end of a run: says where its records are and what failed.

use std::collections::HashMap;
use std::io::{self, IsTerminal};

use anyhow::ensure;
use host::units::counted;
use record::{Place, Side, Why};

use super::Rounds;
use crate::system::console;
use crate::system::signals;

impl Rounds {
    /// Says where the records are, and which rows failed.
    ///
    /// # Errors
    /// If all processes of a row failed, if the file is gone, or if something ended the run early.
    pub fn conclude(&mut self) -> anyhow::Result<()> {
        self.conclude_any()?;
        if signals::received().is_some() {
            return Ok(());
        }
        let mut has_failed: HashMap<Place, bool> = HashMap::new();
        for record in &self.records {
            let fails = matches!(record.why(), Some(Why::Failed(_)));
            *has_failed.entry(record.row().place.on(Side::A)).or_insert(true) &= fails;
        }
        let cases = has_failed.len();
        // In the plan's order, each once.
        let places = self.header.rows.iter().map(|row| row.place.on(Side::A));
        let failed = places.filter(|place| has_failed.remove(place) == Some(true));
        let failed: Vec<String> = failed.map(|place| place.name()).collect();
        ensure!(
            failed.is_empty(),
            "{} of {cases} cases failed: {}; their records say why",
            failed.len(),
            failed.join("; ")
        );
        Ok(())
    }

    /// The same, without failed rows: in a duel these are verdicts.
    pub fn conclude_any(&mut self) -> anyhow::Result<()> {
        if signals::received().is_some() {
            console::say(format_args!("interrupted after {}", counted(self.records.len(), "run")));
        }
        let stored = self.store.ensure_kept();
        if stored.is_ok() && self.store.plain_file().is_some() {
            console::say(format_args!("records: {}", self.store.path.display()));
            if io::stderr().is_terminal() && self.header.sides.is_none() {
                let path = self.store.path.to_string_lossy();
                let path = console::shell_word(&path);
                console::say(format_args!(
                    "to see all tables: switchcost report {path} --full, or --html FILE for a page"
                ));
            }
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        stored
    }
}
