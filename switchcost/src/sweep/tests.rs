use super::*;

fn sweep(over: &str, points: &[u64], flags: &[&str]) -> Sweep {
    Sweep {
        over: over.to_owned(),
        unit: "",
        points: points.to_vec(),
        subjects: vec!["thread-brigade".parse().unwrap()],
        pins: vec![true],
        also: vec![Metric::SetUp],
        flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        hops: 100_000,
        rounds: 5,
    }
}

fn fits(_: &str, _: &[String]) -> anyhow::Result<Answer> {
    Ok(Answer::Fits)
}

fn commands(sweep: &Sweep) -> Vec<String> {
    let planned = sweep.plan(fits).unwrap();
    let command = |c: &Case| format!("{} x {} {}", c.warmup, c.iters, c.flags.join(" "));
    planned.cases.iter().map(command).collect()
}

#[test]
fn iterations_follow_from_the_point_alone() {
    assert_eq!(
        commands(&sweep("tasks", &[9, 100_000], &[])),
        ["1000 x 10000 --tasks 9", "1 x 3 --tasks 100000",]
    );
    assert_eq!(
        commands(&sweep("tokens", &[1, 10], &["--threads", "99"])),
        ["100 x 1000 --threads 99 --tokens 1", "10 x 100 --threads 99 --tokens 10",]
    );
    assert_eq!(
        Iterations::of(1000, 1, &Metric::Task, 100_000),
        Iterations { timed: 100, warmup: 10 }
    );
}

#[test]
fn what_is_given_is_not_given_twice() {
    assert_eq!(
        commands(&sweep("tokens", &[5], &["--iters=7", "--tasks=9", "--warmups", "0"])),
        ["0 x 7 --tasks=9 --tokens 5"]
    );
    assert_eq!(
        commands(&sweep("stack-size", &[65536], &[])),
        ["20 x 200 --stack-size 65536 --tasks 500"]
    );
}

#[test]
fn a_case_knows_the_curve_it_belongs_to() {
    let sweep = sweep("stack-size", &[65536, 131072], &[]);
    let planned = sweep.plan(fits).unwrap();
    let case = &planned.cases[1];
    assert_eq!(case.cell.over.as_deref(), Some("stack_size"));
    assert_eq!((case.x, case.pin), (Some(131_072), true));
    assert_eq!(case.section.title, "Time per hop over --stack-size, --tasks 500");
    assert_eq!((case.cell.name().as_str(), case.index), ("thread-brigade, pinned", 0));
    assert_eq!(metric("async-creation"), Metric::Task);
}

#[test]
fn a_time_is_typed_with_its_unit_and_stands_in_ns() {
    let sweep = Sweep { unit: "ns", ..sweep("length", &[1000, 10_000_000], &["--tasks", "50"]) };
    assert_eq!(commands(&sweep)[1], "197 x 1961 --tasks 50 --length 10000000ns");
    let case = &sweep.plan(fits).unwrap().cases[1];
    assert_eq!(case.cell.over.as_deref(), Some("length"));
    assert_eq!(case.section.title, "Time per hop over --length in ns, --tasks 50");
}

#[test]
fn threads_are_tasks_unless_they_are_a_flag_of_their_own() {
    let of = |program: &str| Sweep {
        subjects: vec![program.parse().unwrap()],
        ..sweep("threads", &[8, 16], &["--iters", "9", "--warmup", "1"])
    };
    let own = of("blocking-strategies");
    assert_eq!(commands(&own)[0], "1 x 9 --threads 8 --tasks 500");
    let over = |sweep: &Sweep| sweep.plan(fits).unwrap().cases[0].cell.over.clone();
    assert_eq!(over(&own).as_deref(), Some("threads"));
    let alias = of("thread-brigade");
    assert_eq!(commands(&alias)[0], "1 x 9 --threads 8");
    assert_eq!(over(&alias).as_deref(), Some("tasks"));
    let batch = ["--batch", "7"].map(str::to_owned);
    assert_eq!(value_text("blocking-strategies", &batch, "tasks"), Some("7"));
}

#[test]
fn a_program_may_be_swept_with_flags_of_its_own() {
    let subjects = ["pipes", "pipes --transport socketpair --tasks 9"];
    let subjects = subjects.map(|name| name.parse().unwrap()).to_vec();
    let sweep = Sweep { subjects, pins: vec![false], ..sweep("tokens", &[2], &[]) };
    assert_eq!(
        commands(&sweep),
        [
            "20 x 200 --tokens 2 --tasks 500",
            "1112 x 11112 --transport socketpair --tasks 9 --tokens 2",
        ]
    );
    let planned = sweep.plan(fits).unwrap();
    let names: Vec<_> = planned.cases.iter().map(|c| c.cell.name()).collect();
    assert_eq!(names[1], "pipes --transport socketpair --tasks 9, unpinned");
}

#[test]
fn points_that_the_limits_forbid_are_one_cut() {
    let sweep = sweep("tasks", &[10, 1000, 2000], &[]);
    let ask = |_: &str, flags: &[String]| {
        let tasks = value_text("thread-brigade", flags, "tasks").unwrap();
        let tasks: u64 = tasks.parse().unwrap();
        Ok(match tasks > 500 {
            false => Answer::Fits,
            true => Answer::TooMuch {
                largest: 500,
                limits: vec!["open files".to_owned()],
                memory: false,
            },
        })
    };
    let planned = sweep.plan(ask).unwrap();
    // The largest number that the limits allow is tried.
    assert_eq!(planned.cases.iter().map(|case| case.x).collect::<Vec<_>>(), [Some(10), Some(499)]);
    let [cut] = &planned.cuts[..] else { panic!("one cut expected: {:?}", planned.cuts) };
    assert_eq!(
        lines(&[cut.clone(), cut.clone()], "tasks"),
        ["thread-brigade is not run at --tasks 1000, 2000: this system allows at most \
          500 tasks (open files)"]
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
