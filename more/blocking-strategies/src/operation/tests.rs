use super::*;

#[test]
fn a_batch_follows_from_its_number() {
    for kind in [Kind::Sleep, Kind::Spin, Kind::Expensive] {
        let [third, again, fourth] = [3, 3, 4].map(|batch| {
            let mut operations = Vec::new();
            Work { kind, length: None }.draw(batch, 1000, &mut operations);
            operations
        });
        assert_eq!(third, again);
        assert_ne!(third, fourth);
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
    assert_eq!(weighed(&numbers), SORTED_SUM);
    numbers.swap(10, 11);
    assert!(weighed(&numbers) < SORTED_SUM);
}
