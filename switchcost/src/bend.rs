//! Where a curve leaves the level that it begins at.
//!
//! The *level* is the median of the points at the left end, for as long as each lies within
//! [`TOLERANCE`] of a first one or cannot be told from it, since their intervals overlap. That
//! one is the middle of the first three by value, so that one odd point makes no level, or else,
//! where those three are not alike, the very first. The level's own interval has the medians of
//! their bounds.
//!
//! The *bend* is the first point from which on every point to the right end lies outside that
//! tolerance of the level, on the same side, with an interval that shares no value with that of
//! the level. So one stray point bends nothing, and neither does noise.

use serde::Serialize;

/// How far from the level a point must be to have left it.
pub const TOLERANCE: f64 = 0.2;

/// Fewest points that have a shape.
const FEWEST: usize = 3;

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where it is.
    pub x: u64,
    /// Figure there.
    pub value: f64,
    /// The bounds of its interval, where it has one.
    pub interval: Option<(f64, f64)>,
}

/// A curve in few words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bend {
    /// The value that the curve begins at.
    pub level: f64,
    /// Course after the level.
    pub shape: Shape,
    /// The value at the right end, divided by the level.
    pub end: f64,
    /// True if every point has an interval. Without, only the values are compared.
    pub sure: bool,
}

/// Course of a curve after its level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Shape {
    /// No point leaves the level.
    Flat,
    /// Every point from some x on is above the level.
    Rises {
        /// The last point before.
        after: u64,
        /// The first of those above.
        from: u64,
    },
    /// Every point from some x on is below it.
    Falls {
        /// The last point before.
        after: u64,
        /// The first of those below.
        from: u64,
    },
    /// Points leave the level, but not on one side up to the right end.
    Uneven {
        /// The point that is farthest from the level.
        at: u64,
        /// Its value, divided by the level.
        factor: f64,
    },
}

/// The side of the level that a point is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Within,
    Above,
    Below,
}

/// Describes a curve by its points in ascending order; `None` under three points, or where a
/// value is not positive and finite.
pub fn bend(points: &[Point]) -> Option<Bend> {
    let last = points.last()?;
    let usable = |p: &Point| p.value.is_finite() && p.value > 0.0;
    if points.len() < FEWEST || !points.iter().all(usable) {
        return None;
    }
    let flat = leading(points)?;
    let median = |figure: fn(&Point) -> f64| {
        let figures: Vec<f64> = flat.iter().map(figure).collect();
        stats::median(&figures)
    };
    let level = median(|p| p.value)?;
    let (low, high) = (median(|p| p.bounds().0)?, median(|p| p.bounds().1)?);
    let side = |p: &Point| {
        let (p_low, p_high) = p.bounds();
        match p.value / level {
            factor if factor > 1.0 + TOLERANCE && p_low > high => Side::Above,
            factor if factor < 1.0 - TOLERANCE && p_high < low => Side::Below,
            _ => Side::Within,
        }
    };
    Some(Bend {
        level,
        shape: shape(points, level, side),
        end: last.value / level,
        sure: points.iter().all(|p| p.interval.is_some()),
    })
}

/// The points that make the level.
fn leading(points: &[Point]) -> Option<&[Point]> {
    let run = |like: &Point| {
        let alike =
            |p: &&Point| (p.value / like.value - 1.0).abs() <= TOLERANCE || p.overlaps(like);
        &points[..points.iter().take_while(alike).count()]
    };
    let mut first = points.get(..FEWEST)?.to_vec();
    first.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
    let middle = run(first.get(FEWEST / 2)?);
    match middle.len() >= FEWEST {
        true => Some(middle),
        false => Some(run(points.first()?)),
    }
}

fn shape(points: &[Point], level: f64, side: impl Fn(&Point) -> Side) -> Shape {
    let end = points.last().map_or(Side::Within, &side);
    // The first of the points at the right end that are all on the same side.
    let run = points.iter().rev().take_while(|p| side(p) == end).count();
    let bend = points.len() - run;
    let ends =
        bend.checked_sub(1).and_then(|after| Some((points.get(after)?.x, points.get(bend)?.x)));
    match (end, ends) {
        (Side::Above, Some((after, from))) => Shape::Rises { after, from },
        (Side::Below, Some((after, from))) => Shape::Falls { after, from },
        _ => {
            let distance = |p: &Point| (p.value / level).ln().abs();
            points
                .iter()
                .filter(|p| side(p) != Side::Within)
                .max_by(|a, b| distance(a).total_cmp(&distance(b)))
                .map_or(Shape::Flat, |p| Shape::Uneven { at: p.x, factor: p.value / level })
        }
    }
}

impl Point {
    /// True if the two intervals have a value in common.
    fn overlaps(&self, other: &Point) -> bool {
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        low <= other_high && other_low <= high
    }

    /// Its interval, or the value itself twice.
    fn bounds(&self) -> (f64, f64) {
        self.interval.unwrap_or((self.value, self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points at x = 1, 2, 4, ..., each with an interval of ± `reach`.
    fn curve(values: &[f64], reach: f64) -> Vec<Point> {
        let point = |(i, &value): (usize, &f64)| Point {
            x: 1 << i,
            value,
            interval: Some((value - reach, value + reach)),
        };
        values.iter().enumerate().map(point).collect()
    }

    fn shape_of(values: &[f64], reach: f64) -> Shape {
        bend(&curve(values, reach)).unwrap().shape
    }

    #[test]
    fn a_flat_curve_is_flat() {
        let bend = bend(&curve(&[100.0, 104.0, 97.0, 101.0, 110.0], 2.0)).unwrap();
        assert_eq!(bend.shape, Shape::Flat);
        assert_eq!(bend.level, 101.0);
        assert!((bend.end - 110.0 / 101.0).abs() < 1e-12);
        assert!(bend.sure);
    }

    #[test]
    fn a_rise_begins_where_all_that_follows_is_above() {
        let values = [100.0, 104.0, 96.0, 100.0, 130.0, 200.0, 320.0];
        let bend = bend(&curve(&values, 3.0)).unwrap();
        assert_eq!(bend.shape, Shape::Rises { after: 8, from: 16 });
        assert_eq!((bend.level, bend.end), (100.0, 3.2));
        // One stray point before is no part of it.
        let stray = [100.0, 150.0, 96.0, 100.0, 130.0, 200.0];
        assert_eq!(shape_of(&stray, 3.0), Shape::Rises { after: 8, from: 16 });
    }

    #[test]
    fn a_slow_rise_is_measured_from_the_left_end() {
        // Each step is 10 %; the first four points, about 110, make the level.
        let values = [100.0, 110.0, 120.0, 132.0, 145.0, 160.0];
        let bend = bend(&curve(&values, 1.0)).unwrap();
        assert_eq!(bend.level, 115.0);
        assert_eq!(bend.shape, Shape::Rises { after: 8, from: 16 });
    }

    #[test]
    fn a_fall_is_handled_alike() {
        let values = [100.0, 60.0, 40.0, 30.0];
        let bend = bend(&curve(&values, 3.0)).unwrap();
        assert_eq!(bend.shape, Shape::Falls { after: 1, from: 2 });
        assert_eq!((bend.level, bend.end), (100.0, 0.3));
    }

    #[test]
    fn intervals_that_overlap_bend_nothing() {
        let values = [100.0, 100.0, 100.0, 130.0, 140.0];
        assert_eq!(shape_of(&values, 25.0), Shape::Flat);
        assert_eq!(shape_of(&values, 5.0), Shape::Rises { after: 4, from: 8 });
    }

    #[test]
    fn a_first_point_that_says_little_does_not_make_the_level() {
        let mut points = curve(&[200.0, 101.0, 100.0, 99.0, 100.0, 300.0], 2.0);
        points[0].interval = Some((-10.0, 410.0));
        let bend = bend(&points).unwrap();
        assert_eq!(bend.level, 100.0);
        assert_eq!(bend.shape, Shape::Rises { after: 16, from: 32 });
    }

    #[test]
    fn a_curve_that_comes_back_is_uneven() {
        let values = [100.0, 100.0, 250.0, 180.0, 100.0];
        let shape = shape_of(&values, 5.0);
        assert_eq!(shape, Shape::Uneven { at: 4, factor: 2.5 });
        // A dip and then a rise: what holds up to the end is the rise.
        let values = [100.0, 50.0, 100.0, 300.0];
        assert_eq!(shape_of(&values, 5.0), Shape::Rises { after: 4, from: 8 });
    }

    #[test]
    fn without_intervals_the_values_alone_decide_and_it_is_said() {
        let mut points = curve(&[100.0, 101.0, 130.0], 1.0);
        points[1].interval = None;
        let bend = bend(&points).unwrap();
        assert_eq!(bend.shape, Shape::Rises { after: 2, from: 4 });
        assert!(!bend.sure);
    }

    #[test]
    fn too_few_points_have_no_shape() {
        assert_eq!(bend(&[]), None);
        assert_eq!(bend(&curve(&[1.0, 2.0], 0.1)), None);
        assert_eq!(bend(&curve(&[1.0, 0.0, 2.0], 0.1)), None);
        assert_eq!(bend(&curve(&[1.0, f64::NAN, 2.0], 0.1)), None);
    }
}
