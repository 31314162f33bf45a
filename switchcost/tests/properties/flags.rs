//! Flags: lists of CPUs, sizes, ranges, and quantities as people read them.

use std::collections::BTreeSet;

use contract::units::{self, Bytes, Nanos};
use proptest::prelude::*;
use switchcost::plan::range::Range;
use switchcost::plan::scheduling::Cpus;

use super::{inputs, number};

proptest! {
    #![proptest_config(inputs(512))]

    #[test]
    fn any_text_is_a_list_of_cpus_or_is_refused(text in "[0-9,\\- ]{0,24}|\\PC*") {
        if let Ok(list) = text.parse::<Cpus>() {
            prop_assert!(list.list().is_sorted_by(|a, b| a < b));
            prop_assert!(!list.list().is_empty());
        }
    }

    #[test]
    fn a_list_of_cpus_is_read_as_it_was_written(cpus in prop::collection::btree_set(0..1024_u32, 1..60)) {
        let texts: Vec<String> = cpus.iter().map(u32::to_string).collect();
        let list: Cpus = texts.join(",").parse().unwrap();
        let again: Cpus = list.to_string().parse().unwrap();
        prop_assert_eq!(&again, &list);
        prop_assert_eq!(again.list().iter().copied().collect::<BTreeSet<_>>(), cpus);
    }

    #[test]
    fn any_text_is_a_size_or_is_refused(text in "[0-9]{0,21}[kKmMgGtTiIbB]{0,4}|\\PC*") {
        if let Ok(Bytes(bytes)) = text.parse() {
            let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            let (number, unit) = text.split_at(unit);
            let power = unit.chars().next().and_then(|c| "bkmgt".find(c.to_ascii_lowercase()));
            let scale = 1024_u128.pow(power.unwrap_or(0) as u32);
            prop_assert_eq!(u128::from(bytes), number.parse::<u128>().unwrap() * scale);
        }
    }

    #[test]
    fn a_size_in_units_is_that_many_bytes(count in 0..1_u64 << 20, unit in 0..5_usize) {
        let names = ["", "k", "MiB", "G", "tib"];
        let read: Bytes = format!("{count}{}", names[unit]).parse().unwrap();
        prop_assert_eq!(read.0, count << (10 * unit));
    }

    #[test]
    fn quantities_print_whatever_they_are(value in any::<f64>(), other in any::<f64>(), bytes in number()) {
        let texts = [
            Nanos(value).to_string(),
            format!("{:>12.3}", Nanos(value)),
            Nanos(value).like(other),
            units::bytes(value),
            units::bytes_like(value, other),
            Bytes(bytes).to_string(),
        ];
        prop_assert!(texts.iter().all(|text| !text.is_empty()));
    }

    #[test]
    fn any_text_is_a_range_or_is_refused(text in "[0-9]{0,20}\\.{0,3}[0-9]{0,20}|\\PC*") {
        if let Ok(range) = text.parse::<Range>() {
            let points = range.points(2);
            let (from, to) = (points[0], points[1]);
            prop_assert_eq!(Range::new(from, to), Ok(range));
        }
    }

    #[test]
    fn a_range_has_its_ends_and_grows(from in number(), to in number(), count in 0..300_u32) {
        if let Ok(range) = Range::new(from, to) {
            let points = range.points(count);
            prop_assert!(points.is_sorted_by(|a, b| a < b), "{:?}", points);
            prop_assert_eq!((points.first(), points.last()), (Some(&from), Some(&to)));
            prop_assert!(points.len() <= count.max(2) as usize);
        }
    }
}
