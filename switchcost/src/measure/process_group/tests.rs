use std::path::Path;

use super::super::launch;
use super::*;
use crate::plan::setting::Setting;

fn sh(script: &str, timeout: Duration) -> ProcessGroup {
    let args = ["-c".to_owned(), script.to_owned()];
    launch::start(&Path::new("/bin/sh").into(), &args, &Setting::default(), timeout).unwrap()
}

const LONG: Duration = Duration::from_secs(60);

fn line(group: &mut ProcessGroup) -> Option<String> {
    let line = group.line().unwrap()?;
    Some(String::from_utf8(line).unwrap())
}

#[test]
fn lines_go_back_and_forth() {
    let mut echo =
        sh("while read x; do echo got $x; done; printf last; echo bye >&2; exit 3", LONG);
    echo.write(b"one\n").unwrap();
    assert_eq!(line(&mut echo).as_deref(), Some("got one"));
    echo.write(b"two\n").unwrap();
    assert_eq!(line(&mut echo).as_deref(), Some("got two"));
    echo.close_input();
    assert_eq!(line(&mut echo).as_deref(), Some("last"));
    assert_eq!(line(&mut echo), None);
    let ended = echo.end().unwrap();
    assert_eq!((ended.status.code(), ended.fault.as_ref()), (Some(3), None));
    assert!(ended.reason().starts_with("bye ("), "{}", ended.reason());
}

#[test]
fn what_has_ended_while_others_hold_its_output_is_seen() {
    let mut child = sh("sleep 1000 & echo x", LONG);
    assert_eq!(line(&mut child).as_deref(), Some("x"));
    assert_eq!(line(&mut child), None);
    assert!(child.end().unwrap().status.success());
}

#[test]
fn a_line_without_end_is_refused() {
    let mut child = sh("exec tr '\\0' x </dev/zero", LONG);
    assert!(child.line().unwrap_err().to_string().contains("16 MiB"));
}

#[test]
fn a_start_that_a_limit_refuses_names_it() {
    for (errno, limit) in [
        (Errno::EMFILE, Some("`ulimit -n`")),
        (Errno::ENFILE, Some("fs.file-max")),
        (Errno::EAGAIN, Some("`ulimit -u`")),
        (Errno::ENOENT, None),
    ] {
        let error = refused(errno.into());
        assert!(limit.is_none_or(|limit| error.to_string().contains(limit)), "{error}");
        // The settings of a case explain it further.
        assert!(error.downcast_ref::<io::Error>().is_some());
    }
}
