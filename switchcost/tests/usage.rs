//! Command lines and what comes of them, as `fixtures/usage.txt` lists them.

use std::path::Path;

use crate::support::process::Run;
use crate::support::{ANSWER, build};

#[test]
fn each_command_line_ends_as_it_should() {
    let table = include_str!("fixtures/usage.txt");
    let folder = tempfile::tempdir().unwrap();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (command, expected) = line.split_once(" => ").unwrap();
        let (status, words) = expected.split_once(' ').unwrap_or((expected, ""));
        let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts");
        let other =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../results/epyc5-2vcpu-6.18/answer.jsonl.gz");
        let command = command.replace("{answer}", ANSWER).replace("{other}", other);
        // By their paths: what a name stands for is built first.
        let programs = build().display().to_string();
        let command = command.replace("{scripts}", scripts).replace("{bin}", &programs);
        let command = shlex::split(&command).unwrap();
        let run = Run::of(build().join(&command[0])).folder(folder.path());
        let run = command[1..].iter().fold(run, |run, word| run.arg(word)).finish();
        let words: Vec<&str> = words.split(" | ").collect();
        if status == "0" {
            let run = run.expect(0);
            assert!(words.iter().all(|word| run.words().contains(word)), "{words:?}: {run}");
        } else {
            let run = run.expect_refusal(status.parse().unwrap(), &words);
            assert!(run.stderr.len() < 1000 && !run.stderr.is_empty(), "{run}");
        }
    }
    assert_eq!(Path::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}
