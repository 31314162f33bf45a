//! A stream, in which the first task takes the tokens from a backlog. The program checks their order.

use std::process::Command;

#[test]
fn the_first_task_sends_the_others() {
    for transport in ["futex", "mpsc"] {
        let output = Command::new(env!("CARGO_BIN_EXE_thread-mem-brigade"))
            .args("--tasks 2 --tokens 5 --iters 3 --feed first-task".split(' '))
            .args(["--transport", transport])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{transport}: {errors}");
    }
}
