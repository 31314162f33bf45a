use record::{Cpus, Policy, Relation, Side, Yardstick};

use super::*;
use crate::plan::{BUILT_IN, COUNTS_OF_A_SLOPE};

/// A row without programs of the columns.
const ROW: &str = "[[section.row]]\nname='r'\nprogram='p'\niters=4\nwarmup=1\n";

/// A section of `metric` with `rest`.
fn section(metric: &str, rest: &str) -> String {
    format!("[[section]]\ntitle='t'\nmetric='{metric}'\n{rest}")
}

fn parse(text: &str) -> Plan {
    Plan::parse(text).unwrap_or_else(|e| panic!("{text}\n{e:#}"))
}

fn assert_refused(text: &str, reason: &str) {
    let error = format!("{:#}", Plan::parse(text).unwrap_err());
    assert!(error.contains(reason), "{text}\n{error}");
}

#[test]
fn every_plan_with_a_name_is_sound() {
    for built_in in BUILT_IN {
        let plan = built_in.plan().unwrap();
        let rows = plan.rows();
        assert!(rows.len() >= 10, "{}", built_in.name);
        assert_eq!(plan.clone().quickened().rows().len(), rows.len());
        // Else it would hide a file of that name.
        assert!(!built_in.name.contains(['/', '.']), "{}", built_in.name);
    }
    let memory = crate::plan::BuiltIn::named("memory").unwrap().plan().unwrap();
    assert_eq!(memory.rows().len(), 10 * COUNTS_OF_A_SLOPE);
    let rows = memory.with_three_counts().rows();
    let bare = rows.iter().filter(|row| row.place.name() == "bare thread");
    assert_eq!(bare.filter_map(|row| row.place.x).collect::<Vec<_>>(), [200, 950, 2000]);
}

#[test]
fn a_row_and_a_column_become_a_row_of_the_run() {
    let column = "[[section.column]]\nname='one CPU'\npin=true\npolicy='batch'\nflags=['--b']\n";
    let row = format!("{ROW}flags=['--a']\n");
    let plan = parse(&format!("rounds=2\n{}", section("hop", &format!("{column}{row}"))));
    let [row] = &plan.rows()[..] else { panic!("one row expected") };
    assert_eq!((row.effort.rounds, row.effort.iters), (Some(2), 4));
    assert_eq!(row.args(), ["--a", "--b", "--warmup", "1"]);
    let setting = &row.command.setting;
    assert_eq!((&setting.cpus, setting.policy), (&Some(Cpus::First), Some(Policy::Batch)));
    let columns = "iters=40\n\
                   column=[{name='a', program='p'}, {name='b', program='q', cpus='other-cache'}]\n\
                   row=[{name='r', cpus='same-cache'}, {name='s', iters=7, warmup=2, versus='r'}]\n";
    let rows = parse(&format!("rounds=2\n{}", section("hop", columns))).rows();
    let line = |row: &Row| {
        let cpus = row.command.setting.cpus.as_ref().map(ToString::to_string);
        let (effort, versus) = (&row.effort, row.ties.versus.clone().unwrap_or_default());
        let cpus = cpus.unwrap_or_default();
        format!("{} {} {} {cpus} {versus}", row.command.program, effort.iters, effort.warmup)
    };
    let (same, other) = (Cpus::Related(Relation::SameCache), Cpus::Related(Relation::OtherCache));
    let expected = [
        format!("p 40 4 {same} "),
        format!("q 40 4 {other} "),
        "p 7 2  r".to_owned(),
        format!("q 7 2 {other} r"),
    ];
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), expected);
}

#[test]
fn a_flag_that_rows_run_over_makes_points_with_their_twins() {
    let plan = |over: &str| {
        let row = format!("over={over}\n{ROW}flags=['--a']\ntwin=true\n");
        format!("rounds=1\n{}", section("hop", &row))
    };
    let rows = parse(&plan("{flag='--load', values=[10, 95]}")).rows();
    let point = |row: &Row| (row.command.flags.join(" "), row.place.x, row.place.side);
    let load = |x: u64, side| (format!("--a --load {x}"), Some(x), side);
    let (own, twin) = (Side::A, Side::Twin);
    let expected = [load(10, twin), load(10, own), load(95, twin), load(95, own)];
    assert_eq!(rows.iter().map(point).collect::<Vec<_>>(), expected);
    assert_eq!(rows[0].swept.as_ref().unwrap().flag, "--load");
    assert!(parse(&plan("{flag='--chains', values='cpus'}")).rows().len() >= 4);
    for (over, reason) in [
        ("{flag='--load', values=[10]}", "at least two values"),
        ("{flag='--load', values=[10, 10]}", "ascending"),
        ("{flag='--load', values='all'}", "'all'"),
        ("{flag='load', values=[1, 2]}", "such as --load"),
        ("{flag='--iters', values=[1, 2]}", "belongs to the runner"),
    ] {
        assert_refused(&plan(over), reason);
    }
}

#[test]
fn the_default_plan_has_each_known_yardstick_on_one_cpu() {
    let mut known: Vec<(Yardstick, bool)> = Vec::new();
    for row in BUILT_IN[0].plan().unwrap().rows() {
        let json = serde_json::to_string(&row).unwrap();
        assert_eq!(serde_json::from_str::<Row>(&json).unwrap(), row);
        let is_pinned = row.command.setting.cpus == Some(Cpus::First);
        let is_own = row.place.side == Side::A;
        known.extend(row.ties.known.filter(|_| is_own).map(|known| (known, is_pinned)));
    }
    known.sort_unstable();
    let [call, switch, fault] = [Yardstick::Getpid, Yardstick::Futex, Yardstick::PageFault];
    assert_eq!(known, [(call, true), (switch, false), (switch, true), (fault, true)]);
}

/// A wake-up, a pipe or a runtime as a yardstick would divide its own change away.
#[test]
fn no_kernel_and_no_runtime_changes_a_yardstick() {
    let rows = BUILT_IN[0].plan().unwrap().rows();
    let yardsticks: Vec<_> = rows.iter().filter(|row| row.ties.yardstick).collect();
    assert!(!yardsticks.is_empty());
    for row in yardsticks {
        let args = row.args().join(" ");
        let is_computing =
            ["--of executor", "--of boxed-future"].iter().any(|of| args.contains(of));
        assert!(row.command.program == "floors" && is_computing, "{args}");
    }
}

/// A section with two columns and two further ones.
fn wide() -> String {
    let also = "rounds=3\n[[section.also]]\nname='rate'\nmetric='rate'\n\
                [[section.also]]\nname='late, p99'\nmetric='extra.late.p99'\n\
                [[section.column]]\nname='free'\n[[section.column]]\nname='one CPU'\n";
    format!("rounds=4\n{}", section("round-trip", &format!("{also}{ROW}")))
}

#[test]
fn a_section_may_have_rounds_of_its_own() {
    let wide = wide();
    let slope = format!("rounds=7\n{}", section("memory", ROW)) + "tasks=[1,2,3,4,5,6,7,8]\n";
    let slope_of_five = slope.replace("title", "rounds=5\ntitle");
    for (plan, rounds) in [
        (parse(&wide), 3),
        (parse(&wide).with_rounds(9), 9),
        (parse(&wide.replace("rounds=3", "rounds=30")).quickened(), 5),
        (parse(&wide.replace("rounds=3", "")), 4),
        (parse(&slope), 3),
        (parse(&slope_of_five), 5),
        (parse(&slope_of_five).quickened(), 1),
    ] {
        assert!(plan.rows().iter().all(|row| row.effort.rounds == Some(rounds)), "{plan:?}");
    }
}

#[test]
fn a_faulty_plan_is_refused_with_its_reason() {
    let plain = section("hop", ROW);
    for (text, reason) in [
        (String::new(), "section"),
        (plain.clone(), "either rounds"),
        (format!("rounds=1\nbudget='1s'\n{plain}"), "either rounds"),
        (format!("budget='soon'\n{plain}"), "not a time"),
        ("rounds=1\nsection=[]".to_owned(), "no [[section]]"),
        (format!("rounds=0\n{plain}"), "1 or more"),
        (format!("rounds=1\nexcludes=' '\n{plain}"), "excludes is empty"),
        (
            format!("rounds=1\n{plain}").replace("title", "passes=['main\\nend']\ntitle"),
            "not the name of a pass",
        ),
        (format!("rounds=1\n{plain}\n{plain}"), "two sections"),
        (format!("rounds=1\n{plain}").replace("program='p'", ""), "one in each row"),
        (format!("rounds=1\n{plain}").replace("iters=4", ""), "iters: write 1 or more"),
        (format!("rounds=1\n{plain}").replace("'hop'", "'memory'"), "at least 8 different counts"),
    ] {
        assert_refused(&text, reason);
    }
    for (rest, reason) in [
        (ROW, "two rows"),
        ("[[section.column]]\nname='c'\nprogram='p'", "one in each row"),
        ("baseline='x'", "refers to 'x'"),
        ("baseline='r'", "refers to 'r'"),
        ("answer='a'", "also write versus"),
        ("known='getpid'", "needs pin"),
        ("speed=3", "unknown field"),
        ("cpus='nearby'", "unknown variant `nearby`"),
        ("pin=true\ncpus='same-cache'", "drop one of them"),
        ("flags=['--controlled']", "belongs to the runner"),
        ("tasks=[1,2]", "only the metric"),
        ("[program.p]\nrun=[]", "run: name a program"),
    ] {
        assert_refused(&format!("rounds=1\n{plain}{rest}"), reason);
    }
    for (from, to, reason) in [
        ("metric='rate'", "metric='memory'", "a section of its own"),
        ("metric='rate'", "metric='round-trip'", "already has a column with this metric"),
        ("metric='rate'", "metric='speed'", "is not a metric"),
        ("name='rate'", "name=''", "name the further column"),
        ("name='rate'", "name=\"a\\u0007\"", "control character"),
        ("name='rate'", "name='late, p99'", "two columns are named 'free: late, p99'"),
        ("name='one CPU'", "name='free'", "two columns are named 'free'"),
        ("metric='round-trip'", "metric='memory'", "a section of its own"),
    ] {
        assert_refused(&wide().replacen(from, to, 1), reason);
    }
}

#[test]
fn a_name_of_the_answer_is_found() {
    let rows = BUILT_IN[0].plan().unwrap().rows();
    let found = |text: &str| rows.iter().filter(|row| row.matches(text)).count();
    assert_eq!((found("switch through pipes"), found("Switch through pipes, one CPU")), (2, 1));
    // `estimate --pid` finds the price of a switch by this name.
    assert_eq!(found("sched_yield(2) between two threads"), 1);
}
