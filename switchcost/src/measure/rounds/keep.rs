//! What a run stores, as soon as it is known.

use std::sync::Arc;

use anyhow::Context;
use record::{Group, Record, Row, Trial, Why};

use super::Rounds;

impl Rounds {
    /// Stores a trial of a row.
    pub(super) fn keep(
        &mut self,
        row: &Row,
        mut trial: Trial,
        group: Option<&Arc<Group>>,
    ) -> anyhow::Result<()> {
        self.keep_header()?;
        self.privacy.trial(&mut trial);
        let number = self.header.rows.iter().position(|other| other.place == row.place);
        let number = number.context("a trial is of no row of this run")? as u32;
        // It is written once, as long as the program says the same.
        let last = self.records.iter().rfind(|record| record.trial.row == number);
        let known = last.and_then(|record| record.said.clone());
        trial.description = trial.description.filter(|said| known.as_deref() != Some(said));
        (trial.run, trial.row) = (self.header.id, number);
        trial.group = group.map(|group| group.group);
        self.store.append(&trial)?;
        let description = trial.description.take().map(Arc::new).or(known);
        let header = self.header.clone();
        self.records.push(Record::new(header, description, group.cloned(), trial));
        Ok(())
    }

    /// Stores a group, before its trials.
    pub(super) fn keep_group(&mut self, mut group: Group) -> anyhow::Result<Arc<Group>> {
        self.keep_header()?;
        (group.run, group.group) = (self.header.id, self.groups);
        self.groups += 1;
        self.store.append(&group)?;
        Ok(Arc::new(group))
    }

    /// Stores the header, before anything else.
    fn keep_header(&mut self) -> anyhow::Result<()> {
        if self.groups == 0 && self.records.is_empty() {
            self.store.append(&*self.header)?;
        }
        Ok(())
    }

    /// Stores why a row has no figure, so that the file tells what is missing.
    pub(super) fn leave_out(&mut self, row: &Row, why: Why) -> anyhow::Result<()> {
        let (not_run, error) = match why {
            Why::LeftOut(reason) => (Some(reason), None),
            Why::Failed(reason) => (None, Some(reason)),
        };
        self.keep(row, Trial { not_run, error, ..Trial::begin() }, None)
    }
}
