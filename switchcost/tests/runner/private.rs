//! A results file holds nothing private, wherever it stands.

use std::fs;

use crate::support::house::House;

const BAD: &str = "one-thread-brigade";

/// Planted in the environment, in paths and in what a program says. None of it may be in the file.
const PRIVATE: [&str; 4] = ["planted-user", "planted-home", "planted-secret", "planted-token"];

#[test]
fn nothing_private_is_in_a_results_file() {
    let house = House::new(2, &["async-brigade", BAD]);
    let away = tempfile::tempdir().unwrap();
    let folder = away.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let plan = folder.join("mine.toml");
    fs::write(&plan, house.plan()).unwrap();
    let says = "echo \"cannot read $HOME/a file\" >&2
        echo \"$USER at $(uname -n): '/srv/x' is gone; https://planted-token:p@example.org/\" >&2
        exit 3";
    house.fake(BAD, says);
    let run = house.switchcost("run --plan").arg(&plan).arg("--out").arg(folder.join("out.jsonl"));
    let run = run.env("HOME", Some("/home/planted-home x")).env("USER", Some("planted-user"));
    run.env("PLANTED", Some("planted-secret")).finish().expect(1);
    let text = fs::read_to_string(folder.join("out.jsonl")).unwrap();
    let here = house.folder().to_str().unwrap();
    for private in PRIVATE.into_iter().chain([here]) {
        assert!(!text.contains(private), "{private}: {text}");
    }
    // What happened is still told.
    for word in ["mine.toml", "cannot read ~/a file", "… at ", "is gone", "https://example.org/"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
}
