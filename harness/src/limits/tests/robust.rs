//! Files that are missing or broken, numbers without bounds, and the real system.

use std::path::Path;

use super::*;

/// Every file of a plain system, and of its cgroups.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path(), found),
            false => found.push(entry.path()),
        }
    }
}

#[test]
fn a_missing_file_makes_a_limit_unknown_and_no_more() {
    assert_eq!(Tree::empty().limits().iter().count(), 0);
    assert_eq!(Tree::empty().limits().largest(&threads()), u64::MAX);
    assert!(Tree::empty().limits().check(&threads(), u64::MAX).is_ok());

    let known = Tree::plain().limits().iter().count();
    let tree = Tree::plain().without("proc/sys/vm/max_map_count");
    assert_eq!(tree.limits().iter().count(), known - 1);
    // Without knowing what is in use a limit tells nothing.
    let tree = Tree::plain().without("proc/loadavg");
    assert_eq!(tree.limits().iter().count(), known - 2);

    let tree = Tree::plain();
    let mut all = Vec::new();
    files(&tree.0, &mut all);
    for path in &all {
        let text = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        assert!(tree.limits().iter().count() <= known, "{path:?}");
        fs::write(path, text).unwrap();
    }
}

#[test]
fn garbage_is_never_a_panic() {
    let garbage: [&[u8]; 8] = [
        b"",
        b"\n\n\n",
        b"\xff\xfe\x00garbage\x80",
        b"99999999999999999999999999999\n",
        b"-1\n",
        b"Max open files\nMax processes 1\nUid:\nThreads:\tx\nMemAvailable: kB\nVmSize: 5\n",
        b"0::\n8:pids\n::::\n8:pids:relative/../x\n0::/ (deleted)\n - \n1 2 3 / / rw - cgroup2 x y\n",
        b"18446744073709551615 18446744073709551615/18446744073709551615\n",
    ];
    let tree = Tree::plain()
        .file(
            "proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        )
        .file("proc/self/cgroup", "0::/a\n")
        .file("proc/self/uid_map", "0 0 4294967295\n")
        .file("sys/fs/cgroup/a/pids.max", "70\n")
        .file("sys/fs/cgroup/a/pids.current", "1\n")
        .file("sys/fs/cgroup/a/memory.max", "70\n")
        .file("sys/fs/cgroup/a/memory.current", "1\n")
        .file("sys/fs/cgroup/a/memory.stat", "inactive_file 5\n");
    let mut all = Vec::new();
    files(&tree.0, &mut all);
    for path in &all {
        let text = fs::read(path).unwrap();
        for bytes in garbage {
            fs::write(path, bytes).unwrap();
            let limits = tree.limits();
            for tasks in [0, 1, u64::from(u32::MAX), u64::MAX] {
                if let Err(exceeded) = limits.check(&threads(), tasks) {
                    let _ = exceeded.to_string();
                }
            }
            let _ = limits.largest(&threads());
        }
        fs::write(path, text).unwrap();
    }
}

#[test]
fn the_largest_number_fits_and_one_more_does_not() {
    let trees = [
        Tree::plain(),
        Tree::plain().file("proc/sys/fs/nr_open", "1000\n"),
        Tree::plain().file("proc/meminfo", "MemAvailable: 5000 kB\n"),
        Tree::plain().file("proc/loadavg", "0 0 0 1/200000 1\n"),
    ];
    let stacks = Demand {
        fixed: Need::NONE,
        per_task: Need {
            address_space: 1 << 40,
            ..Need::NONE
        },
        ..Demand::default()
    };
    let huge = Demand {
        fixed: Need::NONE,
        per_task: Need::std_thread(u64::MAX),
        ..Demand::default()
    };
    let both = threads() + pipes();
    for tree in &trees {
        let limits = tree.limits();
        for demand in [&threads(), &pipes(), &stacks, &huge, &both] {
            let largest = limits.largest(demand);
            assert!(largest < u64::MAX);
            let exceeded = limits.check(demand, largest + 1).unwrap_err();
            assert_eq!(exceeded.largest, largest);
            if largest > 0 {
                assert!(limits.check(demand, largest).is_ok(), "{demand:?}");
            }
            assert!(limits.check(demand, u64::MAX).is_err());
        }
        assert_eq!(limits.largest(&Demand::default()), u64::MAX);
        assert!(limits.check(&Demand::default(), u64::MAX).is_ok());
    }
}

#[test]
fn what_is_always_needed_may_be_too_much_already() {
    let demand = Demand {
        fixed: Need {
            maps: 65_528,
            ..Need::NONE
        },
        per_task: Need::NONE,
        ..Demand::default()
    };
    let limits = Tree::plain().limits();
    assert_eq!(limits.largest(&demand), 0);
    assert!(limits.check(&demand, 0).is_err());
}

#[test]
fn the_real_system_can_be_read() {
    raise_descriptors().unwrap();
    let limits = Limits::read();
    for limit in limits.iter() {
        assert!(!limit.name.is_empty());
        assert!(limit.source.starts_with('/'), "{limit:?}");
    }
    let demand = Demand {
        fixed: Need::NONE,
        per_task: threads().per_task + pipes().per_task,
        ..Demand::default()
    };
    match limits.check(&demand, 1) {
        Ok(()) => assert!(limits.largest(&demand) >= 1),
        Err(exceeded) => assert!(!exceeded.shortages.is_empty(), "{exceeded}"),
    }
    // No system has this many; where nothing could be read, nothing is said.
    if limits.iter().next().is_some() {
        let exceeded = limits.check(&demand, u64::MAX).unwrap_err();
        assert_eq!(exceeded.largest, limits.largest(&demand));
    }
}
