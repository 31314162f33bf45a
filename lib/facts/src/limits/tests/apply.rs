//! Raising the limits that can be raised.

use super::*;

#[test]
fn parameters_are_raised_with_commands_that_put_them_back() {
    let root = plain();
    root.write("/proc/self/status", status(0, 0x1ff_ffff_ffff));
    let limits = limits(&root);
    let number = |key: &str| root.source().number::<u64>(&system::sysctl_file(key));
    let report = limits.report(&threads(), 200_000);
    let applied = limits.apply(&report);
    let raised: Vec<_> = applied.raised.iter().map(|one| (&*one.name, one.to)).collect();
    let expected = [("kernel.threads-max", 212_992), ("vm.max_map_count", 851_968)];
    assert_eq!((&*raised, applied.refused.len()), (&expected[..], 0));
    assert_eq!(number("vm.max_map_count"), Ok(851_968));
    assert_eq!(
        applied.undo,
        ["sysctl -w vm.max_map_count=65530", "sysctl -w kernel.threads-max=190000",]
    );
}

#[test]
fn nothing_is_touched_for_tasks_that_cannot_fit() {
    let root = plain();
    root.write("/proc/self/status", status(0, 0x1ff_ffff_ffff));
    root.write("/proc/meminfo", "MemAvailable: 5000 kB\n");
    let limits = limits(&root);
    let applied = limits.apply(&limits.report(&threads(), 200_000));
    assert!(applied.raised.is_empty() && applied.undo.is_empty());
    let why: Vec<&str> = applied.refused.iter().map(|one| &*one.why).collect();
    assert!(why[0].contains("of no use while MemAvailable"), "{why:?}");
    assert!(why[2].contains("use a larger machine"), "{why:?}");
    // Nor where a limit would be refused to root.
    root.write("/proc/meminfo", "MemAvailable: 50000000 kB\n");
    let withheld = status(0, 0).replace("000001ffffffffff", "000001fffeffffff");
    root.write("/proc/self/status", withheld);
    let limits = Limits::read_under(root.path());
    let applied = limits.apply(&limits.report(&(threads() + pipes()), 1_000_000));
    assert!(applied.raised.is_empty() && applied.undo.is_empty(), "{applied:?}");
    assert_eq!(root.source().number("/proc/sys/vm/max_map_count"), Ok(65_530_u64));
}
