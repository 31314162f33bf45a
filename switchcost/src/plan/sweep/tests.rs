use super::*;

fn sweep(program: &str, over: &str, points: &[u64], flags: &[&str]) -> Sweep {
    Sweep {
        over: over.to_owned(),
        unit: "",
        points: points.to_vec(),
        programs: vec![program.parse().unwrap()],
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

fn fits(program: &str, flags: &[String]) -> anyhow::Result<Feasibility> {
    Ok(Feasibility::Fits(description(program, flags)))
}

#[test]
fn a_point_is_a_case_with_its_iterations_and_its_curve() {
    let chain = sweep("thread-brigade", "tasks", &[9, 100_000], &[]);
    let stacks = sweep("thread-brigade", "stack-size", &[65536], &["--shuffle", "1"]);
    let creation = sweep(" async-creation  --tasks 1000 ", "length", &[5], &["--shuffle", "1"]);
    for (sweep, name, case) in [
        (&chain, "thread-brigade, pinned", "1000 x 10000 --tasks 9: Time per hop over --tasks"),
        (
            &stacks,
            "thread-brigade, pinned",
            "20 x 200 --shuffle 1 --stack-size 65536: \
             Time per hop over --stack-size, 500 tasks, --shuffle 1",
        ),
        (
            &Sweep { unit: "ns", ..creation },
            "async-creation --tasks 1000, pinned",
            "10 x 100 --shuffle 1 --tasks 1000 --length 5ns: \
             Time per task over --length in ns, 1000 tasks, --shuffle 1",
        ),
    ] {
        let c = &sweep.plan(fits).unwrap().cases[0];
        let (flags, title) = (c.flags.join(" "), &c.section.title);
        assert_eq!(format!("{} x {} {flags}: {title}", c.warmup, c.iters), case);
        assert_eq!((c.cell.name().as_str(), c.x), (name, Some(sweep.points[0])));
        assert_eq!(c.cell.over, Some(sweep.over.replace('-', "_")));
    }
    assert_eq!(chain.plan(fits).unwrap().cases[1].iters, FEWEST_ITERATIONS);
    assert!(" ".parse::<CommandLine>().is_err());
}

#[test]
fn points_that_the_limits_forbid_are_one_cut() {
    let ask = |program: &str, flags: &[String]| {
        let description = description(program, flags);
        if description.tasks <= 500 {
            return Ok(Feasibility::Fits(description));
        }
        let limits = vec!["open files".to_owned()];
        Ok(Feasibility::TooMuch { description, largest: 500, limits, memory: false })
    };
    let planned = sweep("thread-brigade", "tasks", &[10, 1000, 2000], &[]).plan(ask).unwrap();
    // The largest number that the limits allow is tried.
    assert_eq!(planned.cases.iter().map(|case| case.x).collect::<Vec<_>>(), [Some(10), Some(499)]);
    let [cut] = &planned.cuts[..] else { panic!("one cut expected: {:?}", planned.cuts) };
    assert_eq!(
        describe_cuts(&[cut.clone(), cut.clone()], "tasks"),
        ["thread-brigade is not run at --tasks 1000, 2000: this system allows at most \
          500 tasks (open files)"]
    );
    assert!(!cut.lacks("tasks"));
}

#[test]
fn a_program_without_the_flag_is_cut_as_a_whole() {
    let mut sweep = sweep("thread-brigade", "capacity", &[1, 2], &[]);
    sweep.programs.push("async-mem-brigade".parse().unwrap());
    let some = |program: &str, flags: &[String]| match program {
        "thread-brigade" => Ok(Feasibility::NoFlag("--capacity".to_owned())),
        _ => fits(program, flags),
    };
    let planned = sweep.plan(some).unwrap();
    let [cut] = &planned.cuts[..] else { panic!("one cut expected: {:?}", planned.cuts) };
    assert!(cut.lacks("capacity") && cut.cases.len() == 2);
    assert_eq!(cut.cases[0].section, planned.cases[0].section);
    let line = "thread-brigade is not run: it has no flag --capacity";
    assert_eq!(describe_cuts(&planned.cuts, "capacity"), [line]);
}
