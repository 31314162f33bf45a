use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A published answer, which holds nothing private.
fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/epyc5-2vcpu-6.18/answer.jsonl")
}

fn share(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_switchcost"))
        .arg("share")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The published answer with another header.
fn changed(change: impl Fn(&mut Value)) -> String {
    let text = fs::read_to_string(published()).unwrap();
    let (header, processes) = text.split_once('\n').unwrap();
    let mut header = serde_json::from_str(header).unwrap();
    change(&mut header);
    format!("{header}\n{processes}")
}

#[test]
fn an_answer_is_cleaned_and_then_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let private = changed(|header| {
        header["command"] = "--plan /home/alice/mine.toml".into();
        header["machine"]["hardware"] = "Alice's desk".into();
        header["hostname"] = "alice".into();
    });
    // The reason of a case that was not tried is free text.
    let (_, last) = private.trim_end().rsplit_once('\n').unwrap();
    let mut untried: Value = serde_json::from_str(last).unwrap();
    untried["not_run"] = "no room in /home/alice".into();
    for field in ["slices", "samples", "usage", "account", "interference", "memory"] {
        untried.as_object_mut().unwrap().remove(field);
    }
    let private = format!("{private}{untried}\n");
    // The file is found by its name and its age.
    fs::write(path("switchcost-x.jsonl"), private).unwrap();
    let (status, _, err) = share(folder.path(), &["--check", "switchcost-x.jsonl"]);
    assert_eq!(status, 1, "{err}");
    for field in ["command", "not_run", "machine.hardware", "hostname"] {
        assert!(err.contains(&format!("{field} is private")), "{err}");
    }

    let (status, out, err) = share(folder.path(), &["desk-2cpu"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(
        out.contains("Left out as private: command, hostname, machine.hardware, not_run."),
        "{out}"
    );
    assert!(out.contains("Nothing was sent") && out.contains("pull request"), "{out}");
    let file = path("results/desk-2cpu/answer.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.to_lowercase().contains("alice"));
    let shown = file.display().to_string();
    assert_eq!(share(folder.path(), &["--check", &shown]), (0, String::new(), String::new()));

    // What holds nothing private is shared whole, and stays as it is from then on.
    let (status, out, err) = share(folder.path(), &["same", &published().display().to_string()]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.contains("Nothing in the records is private."), "{out}");
    let once = fs::read(path("results/same/answer.jsonl")).unwrap();
    // No answer is replaced.
    let taken = share(folder.path(), &["same", "switchcost-x.jsonl"]);
    assert!(taken.0 == 2 && taken.2.contains("exists"), "{}", taken.2);
    let again = share(folder.path(), &["again", "results/same/answer.jsonl"]);
    assert_eq!(again.0, 0, "{}", again.2);
    assert!(fs::read(path("results/again/answer.jsonl")).unwrap() == once);
}

#[test]
fn what_cannot_be_shared_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = fs::read_to_string(published()).unwrap();
    let (header, processes) = text.split_once('\n').unwrap();
    let (first, rest) = processes.split_once('\n').unwrap();
    let process = |change: &dyn Fn(&mut Value)| {
        let mut value = serde_json::from_str(first).unwrap();
        change(&mut value);
        format!("{header}\n{value}\n{rest}")
    };
    for (records, reason) in [
        (String::new(), "no answer"),
        ("nonsense\n".to_owned(), "line 1: "),
        (process(&|value| value["setting"] = "TOKEN=1".into()), "under a setting"),
        (process(&|value| value["error"] = "it failed".into()), "failed"),
        (process(&|value| value["args"] = vec!["--file", "/home/alice/x"].into()), "args holds"),
        (changed(|header| header["build"]["profile"] = "debug".into()), "without optimisation"),
        (
            changed(|header| header["machine"]["governor"] = "/srv/x".into()),
            "machine.governor holds",
        ),
    ] {
        fs::write(path("a.jsonl"), records).unwrap();
        let (status, out, err) = share(folder.path(), &["x", "a.jsonl"]);
        assert_eq!((status, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(reason), "{reason}: {err}");
        let (status, _, err) = share(folder.path(), &["--check", "a.jsonl"]);
        assert!(status == 1 && err.contains(reason), "{reason}: {err}");
    }
    for arguments in
        [&["../x", "a.jsonl"][..], &["", "a.jsonl"], &["x"], &[], &["--check", "a", "--check"]]
    {
        let (status, out, err) = share(folder.path(), arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{err}");
    }
    assert!(!path("results").exists());
}

#[test]
fn a_doubt_is_shared_on_request_alone() {
    let folder = tempfile::tempdir().unwrap();
    let doubtful =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/xeon-2vcpu-6.18/answer.jsonl");
    let file = doubtful.display().to_string();
    let (status, _, err) = share(folder.path(), &["x", &file]);
    assert!(
        status == 2 && err.contains("The machine changed") && err.contains("--allow-doubts"),
        "{err}"
    );
    let (status, _, err) = share(folder.path(), &["--check", &file]);
    assert!(status == 1 && err.contains("The machine changed"), "{err}");
    assert_eq!(share(folder.path(), &["--allow-doubts", "--check", &file]).0, 0);
    let (status, _, err) = share(folder.path(), &["x", &file, "--allow-doubts"]);
    assert_eq!((status, err.as_str()), (0, ""));
}
