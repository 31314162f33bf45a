use super::*;
use crate::probe::Shortage;

fn sweep(over: &str, points: &[u64], flags: &[&str]) -> Sweep {
    Sweep {
        over: over.to_owned(),
        unit: "",
        points: points.to_vec(),
        series: vec![Series {
            subject: "thread-brigade".parse().unwrap(),
            variant: "free".to_owned(),
            flags: vec!["--placement".to_owned(), "free".to_owned()],
        }],
        flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        hops: 100_000,
        rounds: 5,
        seed: 7,
    }
}

fn fits(_: &str, _: &[String]) -> anyhow::Result<Answer> {
    Ok(Answer::Fits)
}

fn commands(sweep: &Sweep) -> Vec<String> {
    let planned = sweep.plan(fits).unwrap();
    planned.cases.iter().map(|c| c.flags.join(" ")).collect()
}

#[test]
fn iterations_follow_from_the_point_alone() {
    assert_eq!(
        commands(&sweep("tasks", &[9, 100_000], &[])),
        [
            "--placement free --tasks 9 --iters 10000 --warmups 1000",
            "--placement free --tasks 100000 --iters 3 --warmups 1",
        ]
    );
    assert_eq!(
        commands(&sweep("tokens", &[1, 10], &["--threads", "99"])),
        [
            "--threads 99 --placement free --tokens 1 --iters 1000 --warmups 100",
            "--threads 99 --placement free --tokens 10 --iters 100 --warmups 10",
        ]
    );
    assert_eq!(
        Iterations::of(1000, 1, Metric::Task, 100_000),
        Iterations {
            timed: 100,
            warmups: 10
        }
    );
}

#[test]
fn what_is_given_is_not_given_twice() {
    assert_eq!(
        commands(&sweep("iters", &[5], &["--tasks=9", "--warmups", "0"])),
        ["--tasks=9 --warmups 0 --placement free --iters 5"]
    );
    assert_eq!(
        commands(&sweep("stack-size", &[65536], &[])),
        ["--placement free --stack-size 65536 --tasks 500 --iters 200 --warmups 20"]
    );
}

#[test]
fn a_case_knows_the_curve_it_belongs_to() {
    let sweep = sweep("stack-size", &[65536, 131072], &[]);
    let planned = sweep.plan(fits).unwrap();
    let position = &planned.cases[1].position;
    assert_eq!(position.over.as_deref(), Some("stack_size"));
    assert_eq!(
        position.section,
        "Time per hop over --stack-size, --tasks 500"
    );
    assert_eq!(
        (position.name().as_str(), position.index),
        ("thread-brigade, free", 0)
    );
    assert_eq!(metric("async-creation"), Metric::Task);
}

#[test]
fn a_time_is_typed_with_its_unit_and_stands_in_ns() {
    let sweep = Sweep {
        unit: "ns",
        ..sweep("length", &[1000, 10_000_000], &["--tasks", "50"])
    };
    assert_eq!(
        commands(&sweep)[1],
        "--tasks 50 --placement free --length 10000000ns --iters 1961 --warmups 197"
    );
    let position = &sweep.plan(fits).unwrap().cases[1].position;
    assert_eq!(position.over.as_deref(), Some("length"));
    assert_eq!(
        position.section,
        "Time per hop over --length in ns, --tasks 50"
    );
}

#[test]
fn threads_are_tasks_unless_they_are_a_flag_of_their_own() {
    let of = |program: &str| Sweep {
        series: vec![Series {
            subject: program.parse().unwrap(),
            variant: String::new(),
            flags: Vec::new(),
        }],
        ..sweep("threads", &[8, 16], &["--iters", "9", "--warmups", "1"])
    };
    let own = of("blocking-strategies");
    assert_eq!(
        commands(&own)[0],
        "--iters 9 --warmups 1 --threads 8 --tasks 500"
    );
    let over = |sweep: &Sweep| sweep.plan(fits).unwrap().cases[0].position.over.clone();
    assert_eq!(over(&own).as_deref(), Some("threads"));
    let alias = of("thread-brigade");
    assert_eq!(commands(&alias)[0], "--iters 9 --warmups 1 --threads 8");
    assert_eq!(over(&alias).as_deref(), Some("tasks"));
    let batch = ["--batch", "7"].map(str::to_owned);
    assert_eq!(value_of("blocking-strategies", &batch, "tasks"), Some(7));
}

#[test]
fn every_program_has_each_variant_that_it_knows() {
    let names = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
    let has = |program: &str, flag: &str| Ok(program == "pipes" || flag == "--placement");
    let all = series(
        &["pipes", "channels"].map(|name| name.parse().unwrap()),
        &names(&["free", "one-cpu"]),
        &names(&["pipe", "socketpair"]),
        has,
    )
    .unwrap();
    let all: Vec<String> = all
        .iter()
        .map(|s| format!("{}: {}: {}", s.subject, s.variant, s.flags.join(" ")))
        .collect();
    assert_eq!(
        all,
        [
            "pipes: free, pipe: --placement free --transport pipe",
            "pipes: free, socketpair: --placement free --transport socketpair",
            "pipes: one-cpu, pipe: --placement one-cpu --transport pipe",
            "pipes: one-cpu, socketpair: --placement one-cpu --transport socketpair",
            "channels: free: --placement free",
            "channels: one-cpu: --placement one-cpu",
        ]
    );
}

#[test]
fn a_program_may_be_swept_with_flags_of_its_own() {
    let subjects = ["pipes", "pipes --transport socketpair --tasks 9"];
    let all = series(
        &subjects.map(|name| name.parse().unwrap()),
        &["free".to_owned()],
        &["pipe".to_owned()],
        |_, _| Ok(true),
    );
    let sweep = Sweep {
        series: all.unwrap(),
        ..sweep("tokens", &[2], &[])
    };
    assert_eq!(
        commands(&sweep),
        [
            "--placement free --transport pipe --tokens 2 --tasks 500 --iters 200 --warmups 20",
            "--transport socketpair --tasks 9 --placement free --tokens 2 --iters 11112 --warmups 1112",
        ]
    );
    let planned = sweep.plan(fits).unwrap();
    let names: Vec<_> = planned.cases.iter().map(|c| c.position.name()).collect();
    assert_eq!(names[1], "pipes --transport socketpair --tasks 9, free");
}

#[test]
fn points_that_the_limits_forbid_are_one_cut() {
    let sweep = sweep("tasks", &[10, 1000, 2000], &[]);
    let ask = |_: &str, flags: &[String]| {
        let tasks = value_of("thread-brigade", flags, "tasks").unwrap();
        Ok(match tasks > 500 {
            false => Answer::Fits,
            true => Answer::TooMuch {
                largest: 500,
                shortages: vec![Shortage {
                    name: "open files".to_owned(),
                    resource: "descriptors".to_owned(),
                    needed: 2 * tasks,
                    allowed: 1000,
                    remedy: String::new(),
                }],
            },
        })
    };
    let planned = sweep.plan(ask).unwrap();
    assert_eq!(planned.cases.len(), 1);
    let [cut] = &planned.cuts[..] else {
        panic!("one cut expected: {:?}", planned.cuts)
    };
    assert_eq!(
        lines(&[cut.clone(), cut.clone()], "tasks"),
        [
            "thread-brigade is not run at --tasks 1000, 2000: this system allows at most \
          500 tasks (open files)"
        ]
    );
    assert!(!cut.lacks("tasks"));
}

#[test]
fn a_program_without_the_flag_is_cut_as_a_whole() {
    let sweep = sweep("capacity", &[1, 2], &[]);
    let none = |_: &str, _: &[String]| Ok(Answer::NoFlag("--capacity".to_owned()));
    let planned = sweep.plan(none).unwrap();
    assert!(planned.cases.is_empty());
    assert!(planned.cuts.iter().all(|cut| cut.lacks("capacity")));
    assert_eq!(
        lines(&planned.cuts, "capacity"),
        ["thread-brigade is not run: it has no flag --capacity"]
    );
}
