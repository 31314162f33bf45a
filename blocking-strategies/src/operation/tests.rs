use super::*;

fn drawn(kind: Kind, seed: u64, batch: u64, fault: &FaultFlags) -> Vec<Operation> {
    let work = Work { kind, length: None, seed };
    let mut operations = Vec::new();
    work.draw(batch, 1000, fault, &mut operations);
    operations
}

#[test]
fn lengths_are_quantiles_of_an_exponential_distribution() {
    // -10 ln(1 - q) µs, from tables of the natural logarithm, cut at both ends.
    for (quantile, ns) in
        [(0.0, 1_000), (0.5, 6_931), (0.9, 23_025), (0.99, 46_051), (0.999, 49_000)]
    {
        assert_eq!(super::drawn(quantile), Duration::from_nanos(ns), "{quantile}");
    }
}

fn fault(text: Option<&str>) -> FaultFlags {
    FaultFlags { test_fault: text.map(|text| text.parse().unwrap()) }
}

#[test]
fn a_batch_follows_from_the_seed_and_its_number() {
    let none = fault(None);
    for kind in [Kind::Sleep, Kind::Spin, Kind::Expensive] {
        let batch = drawn(kind, 7, 3, &none);
        assert_eq!(batch, drawn(kind, 7, 3, &none));
        assert_ne!(batch, drawn(kind, 7, 4, &none));
        assert_ne!(batch, drawn(kind, 8, 3, &none));
    }
}

#[test]
fn every_operation_passes_its_own_check_and_no_other_value_does() {
    let millisecond = Duration::from_millis(1);
    for operation in [
        Operation::Noop,
        Operation::Expensive(1),
        Operation::Expensive(u64::MAX),
        Operation::Sleep(millisecond),
        Operation::Spin(millisecond),
    ] {
        operation.check(operation.run().unwrap()).unwrap();
        assert!(operation.check(1).is_err(), "{operation:?}");
    }
}

#[test]
fn only_the_ascending_order_has_the_sum_of_a_sort() {
    let mut numbers: Vec<u32> = (0..NUMBERS).collect();
    assert_eq!(weighed(&numbers), sorted_sum());
    numbers.swap(10, 11);
    assert!(weighed(&numbers) < sorted_sum());
}

#[test]
fn a_fault_shows_after_some_batches() {
    for (text, batch, faulty) in [("fail@1", 2, 0), ("fail@1", 3, 1), ("absent@1", 0, 1)] {
        let batch = drawn(Kind::Noop, 7, batch, &fault(Some(text)));
        let is_faulty = |o: &&Operation| matches!(o, Operation::Faulty(_));
        assert_eq!(batch.iter().filter(is_faulty).count(), faulty, "{text}");
    }
}
