//! A plan, its results and its tables.

use std::fs;

use crate::support::house::House;
use crate::support::process::Run;
use crate::support::{is_installed, skip, switchcost};

const TWO: [&str; 2] = ["one-thread-brigade", "async-brigade"];

#[test]
fn a_plan_becomes_results_and_tables() {
    let house = House::new(2, &TWO);
    // Five slices in each round: an iteration takes 1 µs, as they say.
    house.set_plan(&house.plan().replace("iters = 4", "iters = 40000"));
    let run = house.run("").finish().expect(0);
    let run = run.expect_complaint(&["out.jsonl"]);
    for text in ["\nAll\n", "row one-thread-brigade", "row async-brigade", "2 rounds"] {
        assert!(run.stdout.contains(text), "'{text}' is missing: {run}");
    }
    let processes = house.processes();
    assert_eq!(processes.len(), 4);
    for (place, process) in (0..).zip(&processes) {
        assert_eq!(process["round"], place / 2);
        let samples = &process["samples"];
        assert_eq!(samples["count"], 40_000, "{process}");
        assert_eq!(samples["mean"].as_f64(), Some(1000.0), "{process}");
        // All take part in each turn, and every slice is kept.
        let slices = process["slices"].as_array().unwrap();
        let turns: Vec<_> = slices.iter().map(|slice| slice[0].as_u64().unwrap()).collect();
        let iterations: u64 = slices.iter().map(|slice| slice[2].as_u64().unwrap()).sum();
        assert_eq!((turns, iterations), (vec![0, 1, 2, 3, 4], 40_000), "{process}");
        assert!(process["error"].is_null() && process["partial"] != true, "{process}");
    }
    let report = switchcost("report").arg(house.out()).finish();
    assert_eq!(report.expect_quiet_success().stdout, run.stdout);
}

/// Programs that claim no switch are neither threads nor tasks.
#[test]
fn an_answer_names_the_rows_of_its_plan() {
    let house = House::new(2, &TWO);
    let answer = "warmup = 1\nversus = 'row async-brigade'\nanswer = 'hand over'";
    house.set_plan(&house.plan().replacen("warmup = 1", answer, 1));
    let run = house.run("").finish().expect(0);
    assert!(run.stdout.contains("row one-thread-brigade ÷ row async-brigade"), "{run}");
    let page = switchcost("report").arg(house.out()).flags("--html -").finish().expect(0);
    for text in [&run.stdout, &page.stdout] {
        let body = text.split("<body>").last().unwrap().split("<details").next().unwrap();
        for word in ["OS thread", "async task", "thread ÷ task", "10,000", "Tasks run"] {
            assert!(!body.contains(word), "'{word}': {body}");
        }
    }
}

#[test]
fn a_filter_begins_where_a_word_begins() {
    let house = House::new(1, &TWO);
    for (filter, status) in [("Thread-brig", 0), ("read", 2)] {
        let run = house.run("--list --filter").arg(filter).finish().expect(status);
        assert_eq!(run.stdout.contains("one-thread-brigade"), status == 0, "{run}");
        assert!(!run.stdout.contains("async-brigade"), "{run}");
    }
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let house = House::new(4, &TWO);
    let order = |seed: &str| {
        let _ = fs::remove_file(house.out());
        house.run("--seed").arg(seed).finish().expect(0);
        let names = house.processes().into_iter().map(|p| p["program"].to_string());
        names.collect::<Vec<_>>()
    };
    let first = order("7");
    assert_eq!((first.len(), &first), (8, &order("007")));
}

/// They can be read, but nothing can be appended to them.
#[test]
fn compressed_results_are_read_and_not_written() {
    let house = House::new(1, &TWO);
    house.run("").finish().expect(0);
    let report =
        |name: &str| house.switchcost("report --format json").arg(house.path(name)).finish();
    let plain = report("out.jsonl").expect(0).stdout;
    if !is_installed("gzip") {
        return skip("no gzip");
    }
    Run::of("gzip").arg(house.out()).finish().expect(0);
    assert_eq!(report("out.jsonl.gz").expect(0).stdout, plain);
    fs::copy(house.path("out.jsonl.gz"), house.out()).unwrap();
    for name in ["out.jsonl", "out.jsonl.gz", "new.jsonl.gz", "plan.toml"] {
        let run = house.switchcost("run --plan plan.toml --out").arg(house.path(name)).finish();
        run.expect_refusal(2, &["--out", name, "gzip"]);
    }
    assert!(!house.path("new.jsonl.gz").exists());
}

#[test]
fn a_budget_takes_the_place_of_the_rounds() {
    let house = House::new(2, &TWO);
    house.run("--budget 2s").finish().expect(0);
    let processes = house.processes();
    let [one, other] = TWO.map(|name| processes.iter().filter(|p| p["program"] == name).count());
    assert!(one >= 5 && one == other, "{one} and {other} rounds");
}

#[test]
fn a_case_that_fails_stays_as_a_row_with_its_reason() {
    for (before, reason) in [
        ("echo '{\"at\":\"failed\",\"error\":\"no luck\"}'; exit 1", "no luck"),
        ("echo so >&2; kill -SEGV $$", "killed by signal 11 (SIGSEGV); it printed: so"),
        ("exit 3", "it ended with exit status: 3, without a message"),
        ("echo nonsense; exit 0", "nonsense"),
    ] {
        let house = House::new(2, &TWO);
        house.fake(TWO[0], before);
        let run = house.run("").finish().expect(1).expect_complaint(&["1 of 2 cases failed"]);
        assert_eq!(run.stdout.matches("failed: ").count(), 1, "{run}");
        let errors = house.errors(TWO[0]);
        assert!(errors.len() == 2 && errors[0].contains(reason), "{errors:?}");
        assert_eq!(house.errors(TWO[1]), [""; 0]);
        let report = switchcost("report").arg(house.out()).finish();
        assert_eq!(report.expect_quiet_success().stdout, run.stdout);
    }
}

#[test]
fn a_faulty_plan_is_bad_usage() {
    let house = House::new(1, &TWO);
    let plan = house.plan();
    for (plan, words) in [
        ("rounds =".to_owned(), "line 1"),
        (plan.replace("iters = 4", "iters = 4\nbaseline = 'nothing'"), "nothing"),
        (plan.replace("iters = 4", "iters = 4\npause_ms = 1001"), "pause_ms: at most 1000"),
    ] {
        house.set_plan(&plan);
        house.run("").finish().expect_refusal(2, &["--plan", "plan.toml", words]);
        assert!(!house.out().exists(), "nothing to keep, no file");
    }
    house.set_plan(&plan.replace("program = \"async-brigade", "program = \"no-such-brigade"));
    for flags in ["", "--list"] {
        house.run(flags).finish().expect_refusal(2, &["no-such-brigade"]);
    }
}

/// The folder of the plan, and not the one where the runner starts.
#[test]
fn a_relative_path_of_a_program_starts_in_the_folder_of_the_plan() {
    let house = House::new(1, &TWO[..1]);
    fs::create_dir(house.path("plans")).unwrap();
    let plan = house.plan().replace("program = \"", "program = \"../");
    fs::write(house.path("plans/plan.toml"), &plan).unwrap();
    let run = |flags: &str| house.switchcost("run --plan plans/plan.toml").flags(flags).finish();
    run("--out out.jsonl").expect(0);
    assert_eq!(house.processes().len(), 1);
    fs::remove_file(house.path(TWO[0])).unwrap();
    run("--list").expect_refusal(2, &["there is no program plans/../one-thread-brigade"]);

    // The same of a program that the plan defines.
    let own = "\n[program.own]\nrun = ['sub/../own', 'argument']\n";
    let plan = house.plan().replace(TWO[0], "own") + own;
    fs::write(house.path("plans/plan.toml"), &plan).unwrap();
    for flags in ["--list", ""] {
        run(flags).expect_refusal(2, &["[program.own]: there is no program", "/plans/sub/../own"]);
    }
    fs::create_dir(house.path("plans/sub")).unwrap();
    house.fake("plans/own", "[ -d sub ] || exit 1");
    run("--out own.jsonl").expect(0);
}

#[test]
fn what_is_no_result_is_told_by_its_line() {
    let house = House::new(1, &TWO);
    let run = house.run("").finish().expect(0);
    let mut lines: Vec<String> = house.text().lines().map(str::to_owned).collect();
    lines.insert(1, "nonsense".to_owned());
    lines.push(lines[0][..lines[0].len() / 2].to_owned());
    fs::write(house.out(), lines.join("\n")).unwrap();
    let report = switchcost("report").arg(house.out()).finish().expect(0);
    let report = report.expect_complaint(&["line 2", "line 6"]);
    assert_eq!(report.stdout, run.stdout);
    for (text, word) in [("", "empty"), ("nonsense\n", "line 1"), ("{\"schema\":1}\n", "line 1")] {
        fs::write(house.out(), text).unwrap();
        let run = switchcost("report").arg(house.out()).finish();
        run.expect_refusal(2, &["out.jsonl", word]);
    }
}

#[test]
fn a_sweep_says_what_it_takes_and_ends_with_its_budget() {
    let house = House::new(1, &TWO);
    let sweep = "sweep --tasks 1..9 --points 3 --placement unpinned --budget 1ms --out out.jsonl";
    let run = house.switchcost(sweep).flags("--program").arg(format!("./{}", TWO[0])).finish();
    // All values are alive together, in one round of five.
    run.expect(0).expect_complaint(&["15 processes; nothing starts after 1ms (--budget)"]);
    assert_eq!(house.processes().len(), 3);
}
