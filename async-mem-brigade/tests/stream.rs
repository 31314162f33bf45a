//! A stream, in which the first task takes the tokens from a backlog. The program checks their order.

use std::process::Command;

#[test]
fn the_first_task_sends_the_others() {
    let transports = ["mpsc", "unbounded", "async-channel", "oneshot", "notify", "mutex"];
    let on_tokio = transports.map(|transport| format!("--transport {transport}"));
    let on_minimal = ["slot", "mutex", "mpsc"]
        .map(|transport| format!("--executor minimal --idle 5 --transport {transport}"));
    for flags in on_tokio.iter().chain(&on_minimal) {
        let flags = format!("--tasks 2 --tokens 5 --iters 3 --feed first-task {flags}");
        let program = env!("CARGO_BIN_EXE_async-mem-brigade");
        let output = Command::new(program).args(flags.split(' ')).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{flags}: {errors}");
    }
}
