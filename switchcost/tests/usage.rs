//! Command lines that are refused, as `fixtures/usage.txt` lists them.

use std::path::Path;

use crate::support::process::Run;
use crate::support::{ANSWER, build};

#[test]
fn bad_usage_is_one_line_that_names_its_cause() {
    let table = include_str!("fixtures/usage.txt");
    let folder = tempfile::tempdir().unwrap();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (command, expected) = line.split_once(" => ").unwrap();
        let (status, words) = expected.split_once(' ').unwrap_or((expected, ""));
        let command = shlex::split(&command.replace("{answer}", ANSWER)).unwrap();
        let run = Run::of(build().join(&command[0])).folder(folder.path());
        let run = command[1..].iter().fold(run, |run, word| run.arg(word)).finish();
        let words: Vec<&str> = words.split(" | ").collect();
        let run = run.expect_refusal(status.parse().unwrap(), &words);
        assert!(run.stderr.len() < 1000 && !run.stderr.is_empty(), "{run}");
    }
    assert_eq!(Path::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}
