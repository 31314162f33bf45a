//! Curves as tables, each with a line that says how it develops.

use figures::Figure;
use figures::curves::Overtaking;
use figures::doubts::names;
use figures::number::{bracketed, value};
use figures::value::Value;
use host::units;
use record::Quantity;

use super::document::Section;
use super::grid::{ABSENT, Grid};
use super::tables;
use crate::views::tables::{Curve, Series};

/// A curve as its table and sentences.
pub(super) fn section(curve: &Curve<'_>) -> Section {
    let tried: Vec<&Series<'_>> = curve.series.iter().filter(|s| s.was_tried()).collect();
    let xs = abscissas(&tried);
    let mut lines = Vec::new();
    for series in &tried {
        let sentence = efficiency(curve, series).or_else(|| end(curve, series));
        lines.extend(sentence.map(|sentence| format!("{}: {sentence}", series.name)));
    }
    lines.extend(curve.overtakings.iter().map(|o| overtaking(curve, o)));
    lines.extend(tried.iter().filter_map(|series| calls(series)));
    lines.extend(tables::gaps(points(curve), |gaps| names(gaps).join("; ")));
    Section::new(&curve.title, grid(curve, &tried, &xs), lines)
}

/// Each series less its baseline, if any has one: a row for each such series, a column for each x.
pub(super) fn steps(curve: &Curve<'_>) -> Option<Section> {
    let xs = abscissas(&curve.series.iter().collect::<Vec<_>>());
    let mut body = Vec::new();
    for series in &curve.series {
        let mut ties = series.points.iter().filter_map(|(_, figure)| figure.runs.ties());
        if let Some(baseline) = ties.find_map(|ties| ties.baseline.as_ref()) {
            let cells = xs.iter().map(|x| {
                let (_, figure) = series.points.iter().find(|(at, _)| at == x)?;
                Some(step(figure.quantity(), figure.related.net.as_ref()?))
            });
            let cells = cells.map(|cell| cell.unwrap_or(ABSENT.to_owned()));
            let name = format!("{} less {baseline}", series.name);
            body.push([name].into_iter().chain(cells).collect());
        }
    }
    let head = [curve.over.to_owned()].into_iter().chain(xs.iter().map(u64::to_string));
    let grid = Grid::new(head, body);
    let title = format!("{}, step by step", curve.title);
    (!grid.body.is_empty()).then(|| Section::new(&title, grid, []))
}

/// A difference, bare if it has no interval.
fn step(quantity: Quantity, difference: &Value) -> String {
    difference.grade.mark(&match difference.has_few_rounds() {
        true => quantity.show(difference.estimate.value),
        false => value(quantity, &difference.estimate),
    })
}

/// The values of the flag that is swept, in ascending order.
fn abscissas(series: &[&Series<'_>]) -> Vec<u64> {
    let mut xs: Vec<u64> = series.iter().flat_map(|s| &s.points).map(|(x, _)| *x).collect();
    xs.sort_unstable();
    xs.dedup();
    xs
}

/// A row for each x of the curve at which something was tried, a column for each of the series.
fn grid(curve: &Curve<'_>, series: &[&Series<'_>], xs: &[u64]) -> Grid {
    let mut head = vec![curve.over.to_owned()];
    head.extend(series.iter().map(|series| series.name.clone()));
    let mut body = Vec::new();
    for &x in xs {
        let points = series.iter().map(|s| s.points.iter().find(|(at, _)| *at == x));
        let mut line = vec![x.to_string()];
        line.extend(points.map(|point| point.map_or(ABSENT.to_owned(), |(_, f)| cell(f))));
        if line[1..].iter().any(|cell| cell != "not run" && cell != ABSENT) {
            body.push(line);
        }
    }
    Grid::new(head, body)
}

/// A figure, bare if it has no interval.
fn cell(figure: &Figure<'_>) -> String {
    match figure.reading() {
        Some(reading) if reading.mean.interval.is_none() && figure.runs.failed == 0 => {
            figure.grade.mark(&figure.quantity().show(reading.mean.value))
        }
        _ => tables::cell(Some(figure)),
    }
}

/// A value of the flag that is swept, for a sentence.
fn at(curve: &Curve<'_>, x: u64) -> String {
    match curve.over {
        // Flags that count something read as what they count.
        "--tasks" | "--tokens" | "--workers" | "--chains" => {
            let plural = curve.over.trim_start_matches('-');
            let noun = if x == 1 { plural.trim_end_matches('s') } else { plural };
            format!("{x} {noun}")
        }
        over => format!("{over} {x}"),
    }
}

/// The point from which one of two series takes less time, in a sentence.
fn overtaking(curve: &Curve<'_>, overtaking: &Overtaking) -> String {
    let Overtaking { names: [ahead, behind], from, end } = overtaking;
    format!(
        "From {} on, {ahead} takes less time than {behind}: {} at the end",
        at(curve, *from),
        shown(end, " times as much", |times| format!("{times:.2}"))
    )
}

/// A ratio in a sentence: its mark, its value with a unit, and its interval.
fn shown(ratio: &Value, unit: &str, show: impl Fn(f64) -> String) -> String {
    let value = show(ratio.estimate.value);
    let interval = ratio.estimate.interval.map(|ends| format!(" {}", bracketed(&ends, show)));
    format!("{}{value}{unit}{}", ratio.grade, interval.unwrap_or_default())
}

/// The rate per CPU at each further point, relative to the first.
fn efficiency(curve: &Curve<'_>, series: &Series<'_>) -> Option<String> {
    let points = series.efficiency.iter().map(|(x, ratio)| {
        let percent = shown(ratio, " %", |share| format!("{:.0}", 100.0 * share));
        format!("{percent} at {}", at(curve, *x))
    });
    let points = points.collect::<Vec<_>>().join(", ");
    (!points.is_empty()).then(|| format!("efficiency {points}"))
}

/// System calls of a series at each x, if they were counted.
fn calls(series: &Series<'_>) -> Option<String> {
    let counted = series.points.iter().filter_map(|(x, figure)| {
        let evidence = figure.reading()?.evidence.as_ref()?;
        let waits = evidence.hops_per_wait.map(|hops| format!(" ({hops:.1} hops per wait)"));
        Some(format!("{:.2}{} at {x}", evidence.calls?, waits.unwrap_or_default()))
    });
    let counted = counted.collect::<Vec<_>>().join(", ");
    (!counted.is_empty()).then(|| format!("{}: system calls per hop: {counted}", series.name))
}

/// Points of a curve.
fn points<'a>(curve: &'a Curve<'_>) -> impl Iterator<Item = &'a Figure<'a>> {
    curve.series.iter().flat_map(|series| series.points.iter().map(|(_, figure)| *figure))
}

/// The last point of a series beside the first one, if it is the row's own figure.
fn end(curve: &Curve<'_>, series: &Series<'_>) -> Option<String> {
    let (ratio, [(first, first_figure), .., (last, _)]) =
        (series.end.as_ref()?, &series.points[..])
    else {
        return None;
    };
    first_figure.runs.ties()?;
    ratio.estimate.interval?;
    let digits = if ratio.estimate.value < 0.01 {
        4
    } else {
        units::significant(ratio.estimate.value).min(2)
    };
    Some(format!(
        "{} as much at {} as at {first}",
        shown(ratio, " times", |times| format!("{times:.digits$}")),
        at(curve, *last)
    ))
}

#[cfg(test)]
mod tests {
    use contract::message::Description;
    use record::{Cpus, Metric, Record, Samples, Swept, Trial};

    use super::*;
    use crate::testing;
    use crate::views::tables::curves;
    use figures::Figures;

    /// Records of a curve over chains: their number, the round, and the time of an iteration.
    fn records(metric: Metric, points: &[(u64, u32, u64)]) -> Vec<Record> {
        let records = points.iter().map(|&(x, round, ns)| {
            let mut row = testing::row("a", "p", &[]).at("--chains", x, "");
            row.place.metric = metric.clone();
            row.swept = Some(Swept { flag: "--chains".to_owned() });
            row.command.setting.cpus = Some(Cpus::List(vec![0, 1]));
            let hops = Some(if metric == Metric::Hop { 1 } else { 2 * x });
            let said = Description { chains: x, hops, ..testing::description(1) };
            let samples = Samples::of(&[ns; 9]);
            testing::in_row(row, said, Trial { round, samples, ..Trial::begin() })
        });
        records.collect()
    }

    fn section_of(records: &[Record]) -> Section {
        let figures = Figures::of(records);
        section(&curves(&figures)[0])
    }

    fn sentences(section: &Section) -> Vec<&str> {
        section.lines.iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn the_end_of_a_curve_is_divided_by_its_beginning_in_each_round() {
        // It rises and falls. A round is ten times as long as another, and so are all of its points.
        let points = (0..6).flat_map(|round| {
            [(1, 100), (2, 50), (4, 80)]
                .map(|(x, ns)| (x, round, ns * (1 + 9 * u64::from(round % 2))))
        });
        let mut records = records(Metric::Hop, &points.collect::<Vec<_>>());
        let end = "a: 0.80 times [0.79, 0.81] as much at 4 chains as at 1";
        assert_eq!(sentences(&section_of(&records)), [end]);
        // Nothing is said without an interval. Without the last point, the reason for that is given instead.
        assert!(section_of(&records[..12]).lines.is_empty());
        for record in records.iter_mut().filter(|record| record.row().place.x == Some(4)) {
            record.trial.not_run = Some("at most 3\nand more".to_owned());
            record.trial.samples = None;
        }
        let section = section_of(&records);
        assert_eq!(sentences(&section), ["a, --chains 4 not run: at most 3."]);
        assert_eq!(section.grid.body.len(), 2);
    }

    #[test]
    fn a_curve_with_a_baseline_is_shown_step_by_step() {
        let points = (0..5).flat_map(|round| [(1, round, 100), (2, round, 300)]);
        let base = records(Metric::Hop, &points.collect::<Vec<_>>());
        assert!(steps(&curves(&Figures::of(&base))[0]).is_none());
        let above = base.iter().map(|record| {
            let mut row = record.row().clone();
            row.place.row = "b".to_owned();
            row.ties.baseline = Some("a".to_owned());
            let samples = Samples::of(&[record.samples.as_ref().unwrap().min + 50; 9]);
            let trial = Trial { samples, round: record.round, ..Trial::begin() };
            testing::in_row(row, (**record.said.as_ref().unwrap()).clone(), trial)
        });
        let both: Vec<Record> = base.iter().cloned().chain(above).collect();
        let section = steps(&curves(&Figures::of(&both))[0]).unwrap();
        assert_eq!(section.grid.head, ["--chains", "1", "2"]);
        assert_eq!(section.grid.body.len(), 1);
        assert_eq!(section.grid.body[0][0], "b less a");
        assert!(section.grid.body[0][1].starts_with("50.00ns"), "{:?}", section.grid.body);
    }

    #[test]
    fn a_rate_per_cpu_has_its_efficiency() {
        // Two chains on two CPUs take as long as one; four take three times as long.
        let records = records(Metric::HopRatePerCpu, &[(1, 0, 100), (2, 0, 100), (4, 0, 300)]);
        let section = section_of(&records);
        assert_eq!(sentences(&section)[0], "a: efficiency 100 % at 2 chains, 67 % at 4 chains");
    }
}
