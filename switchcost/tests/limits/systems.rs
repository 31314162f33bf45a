//! What the doctor says of several distributions' systems, written in miniature from the formats
//! that proc(5), cgroups(7) and the kernel's admin guide document.
//!
//! The programs' needs are invented, so that no snapshot depends on this machine's CPUs.

use std::fs;

use harness::limits::{Demand, Limits, Need, Standing};
use switchcost::doctor::{self, Asked, Checkup};
use switchcost::render;
use tempfile::TempDir;

/// A system, unpacked from one text: `=== path` before each file.
fn system(name: &str) -> TempDir {
    let path = format!(
        "{}/tests/fixtures/systems/{name}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = fs::read_to_string(path).unwrap();
    let root = tempfile::tempdir().unwrap();
    for part in text.split("=== ").skip(1) {
        let (path, text) = part.split_once('\n').unwrap();
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn asked() -> Vec<Asked> {
    let link = Need {
        descriptors: 2,
        memory: 8 << 10,
        pipes: 1,
        ..Need::NONE
    };
    let thread = Need::std_thread(1 << 20);
    let channel = Need {
        memory: 2 << 10,
        ..Need::NONE
    };
    let each = |per_task| {
        Ok(Demand {
            fixed: per_task,
            per_task,
            ..Demand::default()
        })
    };
    let watched = Need {
        watches: 2,
        ..channel
    };
    [
        ("thread-brigade", each(link + thread)),
        ("async-brigade", each(link + watched)),
        ("async-mem-brigade", each(channel)),
        ("thread-creation", each(thread)),
        ("lost-brigade", Err("it is not there".to_owned())),
    ]
    .map(|(name, demand)| (name.to_owned(), demand))
    .to_vec()
}

fn checkup(name: &str, tasks: Option<u64>) -> Checkup {
    let root = system(name);
    doctor::check(&Limits::read_under(root.path()), &asked(), tasks)
}

fn text(checkup: &Checkup, width: usize) -> String {
    let mut out = Vec::new();
    render::limits::text(checkup, width, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_system_is_told_in_words() {
    for name in ["debian", "ubuntu", "rhel", "alpine", "docker", "kubernetes"] {
        let text = text(&checkup(name, Some(20_000)), 100);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../fixtures/snapshots/limits");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}

#[test]
fn nothing_but_commands_and_paths_is_wider_than_it_may_be() {
    for name in ["debian", "ubuntu", "rhel", "alpine", "docker", "kubernetes"] {
        for (tasks, width) in [(None, 100), (Some(20_000), 80), (None, 60)] {
            for line in text(&checkup(name, tasks), width).lines() {
                let is_long = line.starts_with("    ") || line.contains("/sys/fs/cgroup");
                let fits = line.chars().count() <= width;
                assert!(fits || is_long, "{name}, {width}: {line}");
            }
        }
    }
}

/// What binds a program first, and what the doctor would raise for it.
fn first(checkup: &Checkup, program: &str) -> String {
    let mut verdicts = checkup.programs.iter();
    let verdict = verdicts.find(|v| v.program == program).unwrap();
    verdict.binding.as_ref().unwrap().source.clone()
}

#[test]
fn the_limit_that_binds_first_is_found() {
    let slice = "/sys/fs/cgroup/user.slice/user-1000.slice";
    let service = format!("{slice}/user@1000.service/app.slice/run-u12.service");
    for (name, program, source) in [
        ("debian", "thread-creation", format!("{slice}/pids.max")),
        ("ubuntu", "thread-creation", format!("{service}/pids.max")),
        (
            "ubuntu",
            "async-mem-brigade",
            format!("{service}/memory.high"),
        ),
        ("rhel", "thread-brigade", "/proc/meminfo".to_owned()),
        ("alpine", "async-brigade", "/proc/self/limits".to_owned()),
        (
            "docker",
            "thread-brigade",
            "/sys/fs/cgroup/pids/pids.max".to_owned(),
        ),
        (
            "docker",
            "async-mem-brigade",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes".to_owned(),
        ),
        (
            "kubernetes",
            "thread-creation",
            "/sys/fs/cgroup/pids.max".to_owned(),
        ),
    ] {
        assert_eq!(
            first(&checkup(name, None), program),
            source,
            "{name}, {program}"
        );
    }
}

#[test]
fn each_command_says_what_makes_it_last() {
    let lasting = |name, limit: &str| {
        let checkup = checkup(name, Some(20_000));
        let raise = checkup.raises.into_iter();
        let mut raise = raise.filter(|raise| raise.shortage.name.starts_with(limit));
        raise.next().unwrap().shortage.to_last.unwrap()
    };
    assert!(lasting("debian", "pids.max").contains("set-property user-1000.slice TasksMax="));
    assert!(lasting("ubuntu", "memory.high").contains("run-u12.service MemoryHigh="));
    assert!(lasting("debian", "vm.max_map_count").contains("/etc/sysctl.d/"));
    assert!(lasting("alpine", "open files").contains("/etc/security/limits.d/"));
    assert!(lasting("docker", "pids.max").contains("--pids-limit"));
    assert!(lasting("docker", "memory.limit").contains("--memory"));
    assert!(lasting("kubernetes", "pids.max").contains("podPidsLimit"));
}

#[test]
fn what_is_hidden_is_named_and_never_guessed() {
    let checkup = checkup("kubernetes", None);
    let is_maps = |line: &&doctor::Line| line.finding.name == "vm.max_map_count";
    let maps = checkup.limits.iter().find(is_maps).unwrap();
    assert_eq!(maps.finding.standing, Standing::Unknown);
    assert!(maps.largest.is_empty());
    let text = text(&checkup, 100);
    assert!(text.contains("vm.max_map_count: cannot read /proc/sys/vm/max_map_count"));
    assert!(text.contains("lost-brigade: cannot be asked: it is not there"));
    assert!(text.contains("/proc/sys is read-only"));
}

#[test]
fn the_commands_are_enough() {
    // What is raised for N holds N: the doctor's numbers agree with the check of the programs.
    for name in ["debian", "alpine", "docker"] {
        let root = system(name);
        let limits = Limits::read_under(root.path());
        for (program, demand) in asked() {
            let Ok(demand) = demand else { continue };
            let largest = limits.largest(&demand);
            assert!(limits.check(&demand, largest).is_ok(), "{name}, {program}");
            let checkup = doctor::check(&limits, &asked(), Some(largest + 1));
            assert!(checkup.too_many_for().any(|name| name == program));
            let raised = checkup.raises.iter();
            let mut raised = raised.filter(|raise| raise.programs.contains(&program));
            assert!(raised.next().is_some(), "{name}, {program}");
        }
    }
}
