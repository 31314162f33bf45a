//! Standard output that is full, closed, or read only in part.

use std::fs::{self, OpenOptions};

use crate::support::benchmarks::all;
use crate::support::skip;

#[test]
fn a_full_device_is_an_error() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        return skip("no /dev/full");
    };
    for benchmark in all() {
        for flags in ["", "--format json", "--check-limits"] {
            let run = benchmark.tiny(flags).finish_into(full.try_clone().unwrap());
            run.expect(1)
                .expect_complaint(&["cannot print", "No space left"]);
        }
    }
}

#[test]
fn a_closed_descriptor_is_an_error_where_something_is_to_be_printed() {
    for benchmark in all() {
        let closed = r#"exec "$0" "$@" >&-"#;
        let tiny = "--tasks 3 --iters 4 --warmups 1";
        for flags in ["", "--format json", "--check-limits"] {
            let run = benchmark.within(closed, tiny).flags(flags).finish();
            run.expect_refusal(1, &["standard output is closed"]);
        }
        let run = benchmark.within(closed, tiny).flags("--quiet").finish();
        run.expect_quiet_success();
    }
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    for benchmark in all() {
        for flags in ["", "--format json", "--check-limits", "--help"] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let run = benchmark.tiny(flags).finish_into(writer);
            run.expect_quiet_success();
        }
    }
}

#[test]
fn a_reader_of_the_first_line_gets_it() {
    for benchmark in all() {
        let run = benchmark.within(r#""$0" "$@" | head -n 1"#, "--tasks 3 --iters 4");
        assert_eq!(
            run.finish().expect_quiet_success().line(),
            "3 tasks, 4 iterations:"
        );
    }
}

/// With descriptors 0 to 2 closed, the first files that a program opens get these numbers: no
/// message may end up in a link.
#[test]
fn closed_standard_input_and_error_do_no_harm() {
    for benchmark in all() {
        let script = r#"exec "$0" "$@" <&- 2>&-"#;
        let run = benchmark
            .within(script, "--tasks 3 --iters 4 --format json")
            .finish();
        let record = run.expect_quiet_success().record();
        assert_eq!(record.samples.map(|samples| samples.count), Some(4));
    }
}

#[test]
fn a_file_gets_the_same_as_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    for benchmark in all() {
        let path = folder.path().join(&benchmark.name);
        let run = benchmark
            .tiny("--format json")
            .finish_into(fs::File::create(&path).unwrap());
        run.expect_quiet_success();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}
