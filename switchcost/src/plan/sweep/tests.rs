use super::*;

fn sweep(over: &str, points: &[u64], flags: &[&str]) -> Sweep {
    Sweep {
        over: over.to_owned(),
        unit: "",
        points: points.to_vec(),
        programs: vec!["thread-brigade".parse().unwrap()],
        pins: vec![true],
        also: vec![Metric::SetUp],
        flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        hops: 100_000,
        rounds: 5,
        alone: false,
    }
}

/// What a program says that has a hop for each task and one more; creation programs have none.
fn description(program: &str, flags: &[String]) -> Box<Description> {
    let tasks = flags.iter().position(|flag| flag == "--tasks");
    let tasks = tasks.map_or(500, |at| flags[at + 1].parse().unwrap());
    let hops = (!program.contains("creation")).then_some(tasks + 1);
    let json = serde_json::json!({
        "contract": 1, "program": program, "version": "3", "tasks": tasks, "hops": hops,
        "claim": "no-switch", "passes": [{"name": "main"}]
    });
    Box::new(serde_json::from_value(json).unwrap())
}

fn fits(program: &str, flags: &[String]) -> anyhow::Result<Answer> {
    Ok(Answer::Fits(description(program, flags)))
}

fn commands(sweep: &Sweep) -> Vec<String> {
    let planned = sweep.plan(fits).unwrap();
    let command = |c: &Case| format!("{} x {} {}", c.warmup, c.iters, c.flags.join(" "));
    planned.cases.iter().map(command).collect()
}

#[test]
fn iterations_follow_from_what_the_program_says_of_the_point() {
    assert_eq!(
        commands(&sweep("tasks", &[9, 100_000], &[])),
        ["1000 x 10000 --tasks 9", "1 x 3 --tasks 100000"]
    );
    let programs = vec!["thread-creation --tasks 1000".parse().unwrap()];
    let creation = Sweep { programs, unit: "ns", ..sweep("length", &[5], &[]) };
    assert_eq!(commands(&creation), ["10 x 100 --tasks 1000 --length 5ns"]);
}

#[test]
fn a_case_knows_the_curve_it_belongs_to() {
    let mut sweep = sweep("stack-size", &[65536, 131072], &["--shuffle", "1"]);
    let planned = sweep.plan(fits).unwrap();
    let case = &planned.cases[1];
    assert_eq!(case.cell.over.as_deref(), Some("stack_size"));
    assert_eq!((case.x, case.pin), (Some(131_072), true));
    assert_eq!(case.section.title, "Time per hop over --stack-size, 500 tasks, --shuffle 1");
    assert_eq!((case.cell.name().as_str(), case.index), ("thread-brigade, pinned", 0));
    sweep.programs = vec!["async-creation --tasks 9".parse().unwrap()];
    sweep.unit = "ns";
    let case = &sweep.plan(fits).unwrap().cases[0];
    assert_eq!(case.section.metric, Metric::Task);
    assert_eq!(case.section.title, "Time per task over --stack-size in ns, 9 tasks, --shuffle 1");
    assert_eq!(case.cell.name(), "async-creation --tasks 9, pinned");
}

#[test]
fn points_that_the_limits_forbid_are_one_cut() {
    let sweep = sweep("tasks", &[10, 1000, 2000], &[]);
    let ask = |program: &str, flags: &[String]| {
        let description = description(program, flags);
        Ok(match description.tasks > 500 {
            false => Answer::Fits(description),
            true => Answer::TooMuch {
                description,
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
    let mut sweep = sweep("capacity", &[1, 2], &[]);
    sweep.programs.push("async-mem-brigade".parse().unwrap());
    let some = |program: &str, flags: &[String]| match program {
        "thread-brigade" => Ok(Answer::NoFlag("--capacity".to_owned())),
        _ => fits(program, flags),
    };
    let planned = sweep.plan(some).unwrap();
    let [cut] = &planned.cuts[..] else { panic!("one cut expected: {:?}", planned.cuts) };
    assert!(cut.lacks("capacity") && cut.cases.len() == 2);
    assert_eq!(cut.cases[0].section, planned.cases[0].section);
    assert_eq!(
        lines(&planned.cuts, "capacity"),
        ["thread-brigade is not run: it has no flag --capacity"]
    );
}
