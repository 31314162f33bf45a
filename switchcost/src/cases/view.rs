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
    let phases = [
        ("set-up, per task", Metric::SetUp),
        ("the very first iteration, per hop", Metric::FirstIteration),
        ("teardown, per task", Metric::Teardown),
    ];
    let Place { section, case, .. } = place;
    let column = &case.column;
    if section.metric == Metric::Scale {
        let phases = (0..).zip(phases).map(|(place, (phase, metric))| {
            view(format!("{}: {phase}", section.title), column.clone(), metric, place)
        });
        return phases.collect();
    }
    let mut views = vec![view(section.title.clone(), column.clone(), section.metric.clone(), 0)];
    // A point of a curve has one height.
    let also = section.also.iter().filter(|_| case.over.is_none());
    views.extend((1..).zip(also).map(|(place, also)| View {
        further: true,
        ..view(section.title.clone(), also.heading(column), also.metric.clone(), place)
    }));
    views
}
