use std::path::PathBuf;

use observe::affinity;
use record::{Cpus, Setting};

use super::super::launch;
use super::*;

fn sh(script: &str, setting: &Setting) -> Child {
    let args = ["-c".to_owned(), script.to_owned()];
    let program = PathBuf::from("/bin/sh").into();
    launch::start(&program, &args, setting, Duration::from_secs(60)).unwrap()
}

fn line(child: &mut Child) -> Option<String> {
    let line = child.line().unwrap()?;
    Some(String::from_utf8(line).unwrap())
}

#[test]
fn what_has_ended_while_others_hold_its_output_is_seen() {
    let mut child = sh("sleep 1000 & echo x", &Setting::default());
    assert_eq!(line(&mut child).as_deref(), Some("x"));
    assert_eq!(line(&mut child), None);
    assert!(child.end().unwrap().status.success());
}

#[test]
fn a_line_without_end_is_refused() {
    let mut child = sh("exec tr '\\0' x </dev/zero", &Setting::default());
    assert!(child.line().unwrap_err().to_string().contains("16 MiB"));
}

#[test]
fn a_pinned_program_runs_on_one_cpu() {
    let first = affinity::allowed().unwrap()[0];
    let setting = Setting { cpus: Some(Cpus::List(vec![first])), ..Setting::default() };
    let mut child = sh("grep Cpus_allowed_list /proc/self/status", &setting);
    let cpus = format!("Cpus_allowed_list:\t{first}");
    assert_eq!(line(&mut child), Some(cpus));
}
