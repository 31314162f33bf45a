//! Arrivals as their users make them.

use std::io;
use std::process::{Command, Output};

/// What serves.
const KINDS: [&str; 7] =
    ["tokio", "tokio-outside", "tokio-per-cpu", "pool", "pool-condvar", "pool-futex", "thread"];

fn run(flags: &str) -> io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparse-arrivals"));
    command.args(flags.split_whitespace()).output()
}

fn texts(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

#[test]
fn each_kind_serves_at_a_load_and_at_an_interval() {
    for kind in KINDS {
        for (flags, names) in [
            ("--load 20", &["iteration", "in task", "generator late", "cpu percent"][..]),
            ("--every 200us", &["iteration", "to end", "submitted late"]),
        ] {
            let flags = format!("{flags} --work 20us --tasks 2 --iters 300 --warmup 1 --on {kind}");
            let output = run(&flags).unwrap();
            let [text, error] = texts(&output);
            assert_eq!(output.status.code(), Some(0), "{flags}: {error}");
            for name in names {
                assert!(text.lines().any(|line| line.starts_with(name)), "{flags}: {name}: {text}");
            }
        }
    }
}

#[test]
fn a_load_above_what_can_be_served_ends_and_says_so() {
    for kind in KINDS {
        let output =
            run(&format!("--load 150 --work 10us --iters 1 --warmup 0 --on {kind}")).unwrap();
        let [text, error] = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{kind}: {text}{error}");
        let words = ["the backlog", "a load of 150 %"];
        assert!(words.iter().all(|word| error.contains(word)), "{kind}: {error}");
        assert!(error.lines().count() == 1 && text.is_empty(), "{kind}: {text}{error}");
    }
}
