use super::*;

#[test]
fn the_built_in_plan_is_sound() {
    let plan = Plan::built_in().unwrap();
    let cases = plan.cases(false);
    assert!(cases.len() > 10);
    let quick = plan.clone().quickened();
    assert_eq!((plan.budget, quick.budget), (Some(Duration::from_secs(60)), Some(QUICK)));
    assert_eq!(quick.cases(true).len(), cases.len());
}

#[test]
fn every_plan_with_a_name_is_sound() {
    for plan in BUILT_IN {
        assert!(plan.plan().unwrap().cases(false).len() > 10, "{}", plan.name);
        assert_eq!(BuiltIn::named(plan.name).unwrap().text, plan.text);
        // Else it would hide a file of that name.
        assert!(!plan.name.contains(['/', '.']), "{}", plan.name);
    }
    assert!(BuiltIn::named("peer").is_none());
}

#[test]
fn the_built_in_plan_of_memory_is_sound() {
    let plan = Plan::memory().unwrap();
    let cases = plan.cases(false);
    assert_eq!(cases.len(), 7 * COUNTS_OF_A_SLOPE);
    assert!(cases.iter().all(|c| c.section.metric == Metric::Memory));
}

#[test]
fn a_row_becomes_a_command_line() {
    let plan = Plan::parse(
        r#"
        rounds = 2
        [[section]]
        title = "t"
        metric = "hop"
        [[section.column]]
        name = "one CPU"
        pin = true
        policy = "batch"
        [[section.row]]
        name = "r"
        program = "thread-brigade"
        flags = ["--tasks", "5"]
        iters = 3
        warmup = 1
        "#,
    )
    .unwrap();
    let [case] = &plan.cases(false)[..] else { panic!("one case expected") };
    assert_eq!(case.flags, ["--tasks", "5"]);
    assert_eq!((case.iters, case.rounds, case.pin), (3, 2, true));
    assert_eq!(case.setting.policy, Some(Policy::Batch));
    assert_eq!(case.args().join(" "), "--tasks 5 --warmup 1");
}

#[test]
fn a_row_or_a_column_names_two_cpus_by_their_relation() {
    let row = "[[section.row]]\nname='r'\nprogram='p'\niters=1\nwarmup=0\n";
    let column = "[[section.column]]\nname='c'\n";
    let section = "rounds = 1\n[[section]]\ntitle='t'\nmetric='hop'\n";
    for (text, relation) in [
        (format!("{section}{row}cpus='smt-sibling'"), Relation::SmtSibling),
        (format!("{section}{column}cpus='other-socket'\n{row}"), Relation::OtherSocket),
        (
            format!("{section}{column}cpus='other-cache'\n{row}cpus='same-cache'"),
            Relation::OtherCache,
        ),
    ] {
        let cases = Plan::parse(&text).unwrap().cases(false);
        assert_eq!(cases[0].relation, Some(relation), "{text}");
        assert!(cases[0].command().contains(relation.name()));
    }
}

#[test]
fn the_columns_may_name_the_programs() {
    let plan = Plan::parse(
        r#"
        rounds = 2
        section = [{
            title = "t",
            metric = "hop",
            column = [{ name = "a", program = "p" }, { name = "b", program = "q" }],
            row = [{ name = "r", iters = 1, warmup = 0 }],
        }]
        "#,
    )
    .unwrap();
    let cases = plan.cases(false);
    let programs: Vec<&str> = cases.iter().map(|c| c.program.as_str()).collect();
    assert_eq!(programs, ["p", "q"]);
}

/// A plan of one section with two columns and two further ones.
const WIDE: &str = r#"
    rounds = 4
    [[section]]
    title = "t"
    metric = "round-trip"
    rounds = 3
    [[section.also]]
    name = "rate"
    metric = "rate"
    [[section.also]]
    name = "late, p99"
    metric = "extra.late.p99"
    [[section.column]]
    name = "free"
    [[section.column]]
    name = "one CPU"
    [[section.row]]
    name = "r"
    program = "p"
    iters = 1
    warmup = 0
"#;

#[test]
fn further_columns_are_of_the_same_runs() {
    let plan = Plan::parse(WIDE).unwrap();
    let cases = plan.cases(false);
    assert_eq!(cases.len(), 2);
    for case in &cases {
        let also = &case.section.also;
        let column = &case.cell.column;
        let headings: Vec<String> = also.iter().map(|a| a.heading(column)).collect();
        assert_eq!(headings, [format!("{column}: rate"), format!("{column}: late, p99")]);
        assert_eq!(also[1].metric.to_string(), "extra.late.p99");
    }
    assert_eq!(cases[0].section.also[0].heading(""), "rate");
}

#[test]
fn a_section_may_have_rounds_of_its_own() {
    let rounds =
        |plan: &Plan| -> Vec<u32> { plan.cases(false).iter().map(|case| case.rounds).collect() };
    let plan = Plan::parse(WIDE).unwrap();
    assert_eq!(rounds(&plan), [3; 2]);
    assert_eq!(rounds(&plan.clone().with_rounds(9)), [9; 2]);
    let more = Plan::parse(&WIDE.replace("rounds = 3", "rounds = 30")).unwrap();
    assert_eq!(rounds(&more), [30; 2]);
    assert_eq!(rounds(&more.quickened()), [5; 2]);
    let none = Plan::parse(&WIDE.replace("rounds = 3", "")).unwrap();
    assert_eq!(rounds(&none), [4; 2]);
}

#[test]
fn a_slope_takes_each_task_count_as_often_as_its_section_says() {
    let section = "rounds = 7\n[[section]]\ntitle = 't'\nmetric = 'memory'\n";
    let row = "[[section.row]]\nname = 'r'\nprogram = 'p'\niters = 1\nwarmup = 0\n\
               tasks = [1, 2, 3, 4, 5, 6, 7, 8]\n";
    let rounds = |text: &str, quick| {
        let cases = Plan::parse(text).unwrap().cases(quick);
        cases.iter().map(|case| case.rounds).max()
    };
    let plain = format!("{section}{row}");
    assert_eq!(rounds(&plain, false), Some(REPEATS_OF_A_COUNT));
    let own = format!("{section}rounds = 5\n{row}");
    assert_eq!((rounds(&own, false), rounds(&own, true)), (Some(5), Some(1)));
}

#[test]
fn a_faulty_further_column_is_refused_with_its_reason() {
    for (from, to, reason) in [
        ("metric = \"rate\"", "metric = \"memory\"", "stands alone"),
        ("metric = \"rate\"", "metric = \"round-trip\"", "has a column of this metric"),
        ("metric = \"rate\"", "metric = \"extra.late.p99\"", "has a column of this metric"),
        ("metric = \"rate\"", "metric = \"speed\"", "is no metric"),
        ("metric = \"rate\"", "", "missing field"),
        ("metric = \"rate\"", "metric = \"rate\"\nunit = 1", "unknown field"),
        ("name = \"rate\"", "name = \"\"", "needs a name"),
        ("name = \"rate\"", "name = \"a\\u0007\"", "control character"),
        ("name = \"rate\"", "name = \"late, p99\"", "two columns are named 'free: late, p99'"),
        ("name = \"one CPU\"", "name = \"free: rate\"", "two columns are named 'free: rate'"),
        ("name = \"one CPU\"", "name = \"free\"", "two columns are named 'free'"),
        ("rounds = 3", "rounds = 0", "at least one"),
        ("metric = \"round-trip\"", "metric = \"memory\"", "no further columns"),
    ] {
        let text = WIDE.replacen(from, to, 1);
        let error = format!("{:#}", Plan::parse(&text).unwrap_err());
        assert!(error.contains(reason), "{text}\n{error}");
    }
}

#[test]
fn a_faulty_plan_is_refused_with_its_reason() {
    let row = "[[section.row]]\nname='r'\nprogram='p'\niters=1\nwarmup=0\n";
    let section = format!("[[section]]\ntitle='t'\nmetric='hop'\n{row}");
    for (text, reason) in [
        (String::new(), "section"),
        (section.clone(), "either rounds"),
        (format!("rounds = 1\nbudget = '1s'\n{section}"), "either rounds"),
        (format!("budget = 'soon'\n{section}"), "not a span of time"),
        ("rounds = 1\nsection = []".to_owned(), "no [[section]]"),
        (format!("rounds = 0\n{section}"), "at least one"),
        (format!("rounds = 1\n{section}{row}"), "two rows"),
        (format!("rounds = 1\n{section}").replace("program='p'", ""), "either each row"),
        (
            format!("rounds = 1\n{section}[[section.column]]\nname='c'\nprogram='p'"),
            "either each row",
        ),
        (format!("rounds = 1\n{section}baseline='x'"), "refers to 'x'"),
        (format!("rounds = 1\n{section}baseline='r'"), "refers to 'r'"),
        (format!("rounds = 1\n{section}passes=['main\\nend']"), "no name of a pass"),
        (format!("rounds = 1\n{section}passes=['']"), "no name of a pass"),
        (format!("rounds = 1\n{section}speed=3"), "unknown field"),
        (format!("rounds = 1\n{section}cpus='nearby'"), "unknown variant `nearby`"),
        (format!("rounds = 1\n{section}pin=true\ncpus='same-cache'"), "drop one of them"),
        (format!("rounds = 1\n{section}flags=['--controlled']"), "the runner's own"),
        (format!("rounds = 1\n{section}tasks=[1,2]"), "only for the metric"),
        (format!("rounds = 1\n{section}\n{section}"), "two sections"),
        (
            format!("rounds = 1\n{section}").replace("'hop'", "'memory'"),
            "at least 8 different counts",
        ),
    ] {
        let error = format!("{:#}", Plan::parse(&text).unwrap_err());
        assert!(error.contains(reason), "{text}\n{error}");
    }
}

#[test]
fn a_plan_describes_programs_that_are_no_crates() {
    let text = |table: &str| {
        format!(
            "rounds = 1\n[program.p]\n{table}\n[[section]]\ntitle = 't'\nmetric = 'hop'\n\
             [[section.row]]\nname = 'r'\nprogram = 'p'\niters = 1\nwarmup = 0\n"
        )
    };
    let plan = Plan::parse(&text("run = ['java', 'P.java']\nbuild = ['true']\nneeds = ['java']"));
    let table = &plan.unwrap().programs["p"];
    assert_eq!((table.run.len(), &table.build[..]), (2, &["true".to_owned()][..]));
    for (table, reason) in [
        ("run = []", "names no program"),
        ("build = ['true']", "missing field `run`"),
        ("run = ['p']\nneeds = ['a/b']", "needs: 'a/b'"),
        ("run = ['p']\nneed = ['a']", "unknown field"),
    ] {
        let error = format!("{:#}", Plan::parse(&text(table)).unwrap_err());
        assert!(error.contains(reason), "{table}\n{error}");
    }
}

#[test]
fn built_in_plans_agree_on_their_programs() {
    let all = built_in_tables().unwrap();
    for built_in in BUILT_IN {
        for (name, table) in built_in.plan().unwrap().programs {
            assert_eq!(all[&name], table, "{}: {name}", built_in.name);
        }
    }
}
