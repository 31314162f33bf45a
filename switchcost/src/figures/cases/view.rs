//! Figures that are shown of a record, and where.

use record::{Metric, Place};

/// Figure of a record in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The heading of the table.
    pub(super) section: String,
    /// The heading of the column.
    pub(super) column: String,
    /// The figure.
    pub metric: Metric,
    /// Its place among all that is shown of the record, from 0.
    pub(super) place: usize,
    /// True where it is another metric than the section's own: such a column has no baseline, is
    /// compared with no row and plans no round.
    pub further: bool,
}

/// Figures of the records in a place of the plan, the section's own metric first.
pub(super) fn views(place: Place<'_>) -> Vec<View> {
    let view = |section: String, column: String, metric, place| View {
        section,
        column,
        metric,
        place,
        further: false,
    };
    let Place { section, case, .. } = place;
    let column = &case.column;
    let mut views = vec![view(section.title.clone(), column.clone(), section.metric.clone(), 0)];
    views.extend((1..).zip(&section.also).map(|(place, also)| {
        // A point of a curve has one height: another figure is another curve.
        let (section, column) = match case.over {
            Some(_) => (format!("{}: {}", section.title, also.name), column.clone()),
            None => (section.title.clone(), also.heading(column)),
        };
        View { further: true, ..view(section, column, also.metric.clone(), place) }
    }));
    views
}
