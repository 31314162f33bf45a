//! Limits of the process and of the system.

use super::*;

#[test]
fn what_child_processes_hold_counts_for_the_system_and_not_for_this_process() {
    let tree = Tree::plain()
        .file("proc/self/limits", &rlimits("64", "90000", "1073741824"))
        .file("proc/sys/fs/file-max", "30000\n")
        .file("proc/sys/vm/overcommit_memory", "2\n");
    let limits = tree.limits();
    let here = Need {
        descriptors: 2,
        maps: 40,
        address_space: 1 << 20,
        ..Need::NONE
    };
    let demand = |per_task| Demand {
        per_task,
        ..Demand::default()
    };
    let elsewhere = demand(here.in_a_child());
    assert_eq!(limits.largest(&demand(here)), (64 - 3) / 2);
    let exceeded = limits.check(&elsewhere, 20_000).unwrap_err();
    let names: Vec<&str> = exceeded.shortages.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["fs.file-max", "CommitLimit (vm.overcommit_memory is 2)"]
    );
    assert!(limits.check(&elsewhere, 2_000).is_ok());
}

#[test]
fn an_ordinary_user_is_bound_by_every_limit() {
    let tree = Tree::plain();
    let limits = tree.limits();
    assert_eq!(
        seen(&limits, Resource::Descriptors),
        [
            ("fs.nr_open", "/proc/sys/fs/nr_open", 1_048_576, 3),
            (
                "open files (hard limit, ulimit -Hn)",
                "/proc/self/limits",
                20_000,
                3
            ),
        ]
    );
    assert_eq!(
        seen(&limits, Resource::Threads),
        [
            (
                "user processes (ulimit -u)",
                "/proc/self/limits",
                90_000,
                10
            ),
            (
                "kernel.threads-max",
                "/proc/sys/kernel/threads-max",
                190_000,
                700
            ),
            (
                "kernel.pid_max",
                "/proc/sys/kernel/pid_max",
                4_194_304,
                1000
            ),
        ]
    );
    assert_eq!(
        seen(&limits, Resource::Maps),
        [("vm.max_map_count", "/proc/sys/vm/max_map_count", 65_530, 3)]
    );
    assert_eq!(
        seen(&limits, Resource::Memory),
        [("MemAvailable", "/proc/meminfo", 8 << 30, 0)]
    );
    assert_eq!(
        seen(&limits, Resource::AddressSpace),
        [("user address space", "/proc/self/maps", 1 << 47, 10 << 20)]
    );
}

#[test]
fn every_limit_that_is_too_low_is_named_with_its_command() {
    let tree = Tree::plain();
    assert_eq!(
        remedies(&tree.limits(), &threads(), 200_000),
        [
            "sudo prlimit --pid $$ --nproc=212992:212992",
            "sudo sysctl -w kernel.threads-max=212992",
            "sudo sysctl -w vm.max_map_count=851968",
        ]
    );
    // Within the hard limit the shell may do it by itself.
    assert_eq!(
        remedies(&tree.limits(), &threads(), 95_000)[0],
        "ulimit -S -u 96365"
    );
}

#[test]
fn more_descriptors_than_nr_open_need_it_raised_first() {
    let tree = Tree::plain();
    let limits = tree.limits();
    assert_eq!(
        remedies(&limits, &pipes(), 100_000),
        ["sudo prlimit --pid $$ --nofile=212992:212992"]
    );
    assert_eq!(
        remedies(&limits, &pipes(), 1_000_000),
        [
            "sudo sysctl -w fs.nr_open=2097152",
            "sudo prlimit --pid $$ --nofile=2097152:2097152",
        ]
    );
    let impossible = remedies(&limits, &pipes(), 1 << 31);
    assert!(impossible.iter().all(|text| text.starts_with('#')));
}

#[test]
fn root_is_not_bound_by_its_processes_nor_by_file_max() {
    let tree = Tree::plain().file("proc/sys/fs/file-max", "30000\n");
    let names = |limits: &Limits| -> Vec<String> {
        limits.iter().map(|limit| limit.name.clone()).collect()
    };
    let user = names(&tree.limits());
    assert!(user.contains(&"user processes (ulimit -u)".to_owned()));
    assert!(user.contains(&"fs.file-max".to_owned()));

    let all = 0x1ff_ffff_ffff;
    let tree = tree.file("proc/self/status", &status(0, all));
    let root = names(&tree.limits());
    assert!(!root.contains(&"user processes (ulimit -u)".to_owned()));
    assert!(!root.contains(&"fs.file-max".to_owned()));
    assert_eq!(
        remedies(&tree.limits(), &threads(), 20_000),
        ["sysctl -w vm.max_map_count=90112"]
    );

    // Root of a user namespace is an ordinary user to these checks.
    let tree = tree.file("proc/self/uid_map", "         0       1000          1\n");
    assert_eq!(names(&tree.limits()), user);
    let exceeded = tree.limits().check(&pipes(), 100_000).unwrap_err();
    assert!(exceeded.shortages[0].note.is_some());
}

#[test]
fn capabilities_alone_lift_the_process_limit() {
    let bound = |capabilities| {
        let tree = Tree::plain().file("proc/self/status", &status(1000, capabilities));
        seen(&tree.limits(), Resource::Threads).len() == 3
    };
    assert!(bound(0));
    assert!(bound(1 << 20));
    assert!(!bound(1 << 24));
    assert!(!bound(1 << 21));
}

#[test]
fn a_command_that_will_be_refused_says_so() {
    let withheld = status(0, 0).replace("000001ffffffffff", "000001fffeffffff");
    let tree = Tree::plain().file("proc/self/status", &withheld).file(
        "proc/self/mountinfo",
        "1 2 0:3 /sys /proc/sys ro - proc proc rw\n",
    );
    let text = tree
        .limits()
        .check(&pipes(), 1 << 20)
        .unwrap_err()
        .to_string();
    assert!(text.contains("CAP_SYS_RESOURCE is withheld"), "{text}");
    assert!(text.contains("/proc/sys is mounted read-only"), "{text}");
}

#[test]
fn unlimited_is_no_limit() {
    let tree = Tree::plain().file(
        "proc/self/limits",
        &rlimits("unlimited", "unlimited", "unlimited"),
    );
    let limits = tree.limits();
    assert!(
        limits
            .iter()
            .all(|limit| limit.source != "/proc/self/limits")
    );
}

#[test]
fn address_space_is_bounded_by_ulimit_and_by_commitment() {
    let tree = Tree::plain()
        .file("proc/self/limits", &rlimits("20000", "90000", "1073741824"))
        .file("proc/sys/vm/overcommit_memory", "2\n")
        .file("proc/sys/vm/admin_reserve_kbytes", "8192\n")
        .file("proc/sys/vm/user_reserve_kbytes", "131072\n");
    let limits = tree.limits();
    let kept = (8 << 20) + (128 << 20);
    assert_eq!(
        seen(&limits, Resource::AddressSpace)[..1],
        [(
            "virtual memory (ulimit -v)",
            "/proc/self/limits",
            1 << 30,
            10 << 20
        )]
    );
    assert_eq!(
        seen(&limits, Resource::Commit),
        [(
            "CommitLimit (vm.overcommit_memory is 2)",
            "/proc/meminfo",
            (4 << 30) - kept,
            1 << 30
        )]
    );
    assert_eq!(
        remedies(&limits, &threads(), 2000),
        [
            "ulimit -S -v 4718592",
            "sudo sysctl -w vm.overcommit_memory=0"
        ]
    );
}

#[test]
fn beyond_the_last_pid_no_command_helps() {
    let remedies = remedies(&Tree::plain().limits(), &threads(), 4_194_305);
    assert!(
        remedies.contains(
            &"# no command helps: kernel.pid_max goes to 4194304 and no further".to_owned()
        )
    );
}

#[test]
fn threads_need_room_beside_their_stacks() {
    let one = Demand::std_threads(2 << 20, 1);
    let many = Demand::std_threads(2 << 20, u64::MAX);
    assert_eq!(one.per_task, Need::std_thread(2 << 20));
    // Two arenas, and the third's worth to align one.
    assert_eq!(one.fixed.address_space, 3 * (64 << 20));
    assert_eq!(one.fixed.maps, 64 + 6);
    assert!(many.fixed.address_space > one.fixed.address_space);
    // Arenas stop growing with the processors, not with the threads.
    assert_eq!(many.fixed, Demand::std_threads(2 << 20, u64::MAX - 1).fixed);
}

#[test]
fn a_single_map_may_not_be_larger_than_the_machine() {
    let stack = |bytes| Demand::std_threads(bytes, 4);
    let limits = Tree::plain().limits();
    let all = (16 << 30) + (1_000_000 << 10);
    assert!(limits.check(&stack(all), 4).is_ok());
    assert!(limits.largest(&stack(all)) > 4);
    let exceeded = limits.check(&stack(all + 1), 1).unwrap_err();
    assert_eq!(
        (exceeded.largest, &exceeded.flags[..]),
        (0, &["--stack-size"][..])
    );
    let text = exceeded.to_string();
    assert!(
        text.contains("a single map (vm.overcommit_memory is 0)"),
        "{text}"
    );
    assert!(text.contains("sysctl -w vm.overcommit_memory=1"), "{text}");
    assert!(
        text.ends_with("lower --stack-size, or raise the limits above"),
        "{text}"
    );

    let tree = Tree::plain().file("proc/sys/vm/overcommit_memory", "1\n");
    assert!(tree.limits().check(&stack(all + 1), 1).is_ok());
}

#[test]
fn a_flag_that_asks_for_too_much_by_itself_is_named() {
    let limits = Tree::plain().limits();
    let workers = Demand::workers(30_000) + Demand::bare_tasks();
    let exceeded = limits.check(&workers, 10).unwrap_err();
    assert_eq!(exceeded.flags, ["--workers"]);
    assert!(exceeded.to_string().contains("lower --workers"));
    let exceeded = limits.check(&Demand::tokens(u32::MAX), 10).unwrap_err();
    assert_eq!(exceeded.flags, ["--tokens"]);
    // Where it is the tasks that are too many, no other flag is to blame.
    let workers = Demand::workers(3) + threads();
    let exceeded = limits.check(&workers, 1 << 30).unwrap_err();
    assert!(exceeded.flags.is_empty() && exceeded.largest > 0);
}

#[test]
fn pipes_and_watches_are_bounded_for_each_user() {
    let tree = Tree::plain()
        .file("proc/sys/fs/pipe-user-pages-soft", "16384\n")
        .file("proc/sys/fs/pipe-user-pages-hard", "32768\n")
        .file("proc/sys/fs/epoll/max_user_watches", "5000\n");
    let limits = tree.limits();
    // 1024 pipes of 16 pages, and the rest in pipes of two.
    let pipes = 1024 + (32_768 - 16_384) / 2;
    assert_eq!(
        seen(&limits, Resource::Pipes),
        [(
            "fs.pipe-user-pages-hard",
            "/proc/sys/fs/pipe-user-pages-hard",
            pipes,
            0
        )]
    );
    let links = Demand::links(Transport::Pipe) + Demand::io_tasks(Transport::Pipe);
    assert_eq!(limits.largest(&links), (5000 - 4) / 2);
    let found = |name: &str| {
        let mut findings = limits.findings().iter();
        findings.find(|finding| finding.name == name).unwrap()
    };
    let soft = found("fs.pipe-user-pages-soft");
    assert_eq!((soft.standing, soft.value), (Standing::Shrinks, Some(1024)));
    assert_eq!(soft.limit().unwrap().largest(&links), 1023);
    assert_eq!(soft.in_use, None, "the kernel does not tell");

    // Who may pass them is not bound; nor is anybody where none is set.
    let mighty = tree.file("proc/self/status", &status(1000, 1 << 24));
    assert_eq!(seen(&mighty.limits(), Resource::Pipes), []);
    let unset = Tree::plain().file("proc/sys/fs/pipe-user-pages-hard", "0\n");
    assert_eq!(seen(&unset.limits(), Resource::Pipes), []);
}

#[test]
fn what_does_not_bind_and_what_is_not_known_are_found_with_the_reason() {
    let tree = Tree::plain().without("proc/sys/vm/max_map_count");
    let limits = tree.limits();
    let standing = |name: &str| {
        let mut findings = limits.findings().iter();
        let finding = findings.find(|f| f.name.starts_with(name)).unwrap();
        (finding.standing, finding.remark.clone().unwrap_or_default())
    };
    let (found, why) = standing("vm.max_map_count");
    assert_eq!(found, Standing::Unknown);
    assert!(
        why.contains("cannot read /proc/sys/vm/max_map_count"),
        "{why}"
    );
    let (found, why) = standing("open files, soft");
    assert!(found == Standing::Free && why.contains("raise it"), "{why}");
    assert_eq!(
        standing("virtual memory"),
        (Standing::Free, "unlimited".to_owned())
    );
    assert_eq!(standing("fs.nr_open").0, Standing::Binds);
    assert_eq!(standing("control groups").0, Standing::Unknown);
}
