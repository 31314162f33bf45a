//! A small repository whose documents are filled and checked.

#![expect(clippy::unwrap_used, reason = "a test's helpers may panic as the test itself does")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const RECORDS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../switchcost/tests/fixtures/plan.jsonl");

const README: &str = "# Test

A hop takes 1 s<!--= hop.free -->, or 1<!--= ratio --> times as long, in all 9<!--= all -->, and
`on something`<!--= machine --> the kernel holds 1.5 MiB [1, 2]<!--= kernel -->. See [more](docs/MORE.md#the-claims), [machines](docs/machines.md).

```
17 µs<!--= this is code -->
```

<!--table: hops -->
<!--/table-->

Type `switchcost run --plan why`, or

```sh
switchcost report FILE --full | head   # comment
```

```toml
budget = \"20s\"
[[section]]
title = \"Hops\"
metric = \"hop\"
row = [{ name = \"a\", program = \"async-brigade\", iters = 9, warmup = 0 }]
```
";

const MORE: &str = "# More

## The claims

<!--table: claims -->
| old |
<!--/table-->
";

const FIGURES: &str = r#"
[README]
hop.free = "example/answer: What a switch costs / thread over pipes / free | interval"
ratio = "example/answer: What a switch costs / thread over pipes / free ÷ async task over pipes / free | interval"
all = "100000 ÷ 3 | count"
machine = "example/answer: machine"
kernel = "example/answer: What a task holds / thread with a pipe / kernel | interval"

[README.hops]
head = ["", "free", "one CPU"]
rows = [["thread over pipes", "{0} / {head}"], ["less the I/O", "thread over pipes / {head} - I/O alone, blocking / {head}"]]
cells = ["example/answer: What a switch costs / {1}"]

[MORE.claims]
claims = "headlines"

[plots."docs/hops.svg"]
table = "README.hops"
columns = ["one CPU"]
title = "Hops"
axis = "time"
"#;

const CLAIMS: &str = r#"
[[claim]]
headline = true
author = "Somebody"
text = "creating a thread ÷ creating a task"
theirs = "17 µs ÷ 0.3 µs"
here = [["", "example/answer: What creation costs / thread ÷ async task"]]
rule = "near"

[[claim]]
headline = true
author = "Somebody"
text = "more than a laptop has"
theirs = "1 TB"
takes = "a server decides it"
"#;

fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("docs/findings")).unwrap();
    fs::create_dir_all(root.join("results/example-8cpu")).unwrap();
    // Its first bytes tell that it is not compressed.
    fs::copy(RECORDS, root.join("results/example-8cpu/answer.jsonl.gz")).unwrap();
    for (path, text) in [
        ("README.md", README),
        ("docs/MORE.md", MORE),
        ("docs/READING.md", "# Figures\n\n## Marks\n"),
        ("docs/figures.toml", FIGURES),
        ("docs/claims.toml", CLAIMS),
    ] {
        fs::write(root.join(path), text).unwrap();
    }
    folder
}

/// Status and standard error.
fn documents(root: &Path, flags: &[&str]) -> (i32, String) {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = xtask.arg("documents").arg("--root").arg(root).args(flags).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn documents_are_filled_from_records() {
    let folder = repository();
    let root = folder.path();
    let (status, faults) = documents(root, &["--check"]);
    assert_eq!(status, 1, "{faults}");
    let first = "README.md:3: its records say: A hop takes 3.5 µs [3.1, 3.9]";
    assert!(faults.contains(first), "{faults}");
    assert_eq!(read(root, "README.md"), README);
    let written = "wrote docs/hops.svg\nwrote docs/machines.html\nwrote docs/machines.md\nwrote docs/claims.csv\n\
                   wrote README.md\nwrote docs/MORE.md\n";
    assert_eq!(documents(root, &[]), (0, written.to_owned()));
    assert_eq!(documents(root, &["--check"]), (0, String::new()));
    let readme = read(root, "README.md");
    for words in [
        "A hop takes 3.5 µs [3.1, 3.9]<!--= hop.free -->, or 3.1 [2.9, 3.3]<!--= ratio --> times as long",
        "in all 33,333<!--= all -->, and\n`Example, 8 CPUs, Linux 6.1.0, Tokio 1.0.0`<!--= machine --> the",
        "the kernel holds 29 KiB [28, 29]<!--= kernel -->. See",
        "17 µs<!--= this is code -->",
        "|  | free | one CPU |\n| --- | ---: | ---: |\n| thread over pipes | 3.5 µs | 2.2 µs |\n",
        "| less the I/O | 3.2 µs | 1.9 µs |\n<!--/table-->\n",
    ] {
        assert!(readme.contains(words), "{words}: {readme}");
    }
    let claims = "| Somebody | creating a thread ÷ creating a task | 56.7 (17 µs ÷ 0.3 µs) | 39 [36, 42] | holds |\n\
                  | Somebody | more than a laptop has | 1 TB |  | cannot be judged here: a server decides it |\n";
    assert!(read(root, "docs/MORE.md").contains(claims), "{}", read(root, "docs/MORE.md"));
    let line = "Somebody,creating a thread ÷ creating a task,56.7 (17 µs ÷ 0.3 µs),\"39 [36, 42]\",holds\n";
    assert!(read(root, "docs/claims.csv").contains(line));
    let page = read(root, "docs/machines.html");
    assert!(page.contains("Example") && page.contains("href=\"../README.md\""), "{page}");
    let in_short = read(root, "docs/machines.md");
    assert!(in_short.contains("| answer | - | - | Example |"), "{in_short}");
    let plot = read(root, "docs/hops.svg");
    let figures = "thread over pipes: one CPU 2.2 µs. less the I/O: one CPU 1.9 µs.";
    assert!(plot.contains(figures) && plot.contains("Bars: 95 % intervals."), "{plot}");
}

#[test]
fn each_fault_is_named_with_its_file_and_line() {
    let folder = repository();
    let root = folder.path();
    assert_eq!(documents(root, &[]).0, 0);
    let (readme, figures, claims) = ("README.md", "docs/figures.toml", "docs/claims.toml");
    // Without a file, the fault is in the one that is changed.
    for (path, from, to, fault) in [
        (readme, "3.5 µs [3.1", "3.6 µs [3.1", ":3: its records say"),
        (readme, "pipes | 3.5", "pipes | 3.6", ":13: its records say"),
        (readme, "hop.free", "hop.fre", ":3: hop.fre: docs/figures.toml has no such figure"),
        (readme, "table: hops", "table: hop", ":10: hop: docs/figures.toml has no such table"),
        (readme, "3.5 µs [3.1, 3.9]<", "an hour<", ":3: hop.free: a number has to stand before it"),
        (readme, "33,333<!--= all", "33,333\n<!--= all", ":4: all: a number has to stand"),
        (readme, "<!--/table-->\n\nType", "Type", ":10: no <!--/table--> ends this table"),
        (readme, "# Test", "<!--table: hops -->\n\nText", ":1: no <!--/table--> ends"),
        (readme, "# Test", "<!-- table: hops -->", ":1: this marks nothing: <!-- table"),
        (readme, "# Test", "<!--/table-->", ":1: this marks nothing: <!--/table-->"),
        (readme, "<!--= hop", "<!--=hop", ":3: this marks nothing: <!--=hop.free -->"),
        (readme, "MORE.md", "LESS.md", ":4: the link docs/LESS.md#the-claims leads to no file"),
        (readme, "#the-claims", "#claims", ":4: docs/MORE.md has no heading #claims"),
        (readme, "[more](docs/MORE.md#the-claims)", "it", "docs/MORE.md:1: no link leads here"),
        (readme, "# Test", "<p>**See**</p>", ":1: GitHub shows ** as it is"),
        (readme, "# Test", "| a <!-- b | c --> |\n| --- |\n", ":1: a | in a comment"),
        (readme, "# Test", "<!-- a -->**b**", ":1: GitHub shows ** as it is"),
        (readme, "--plan why", "--plan whi", ":17: there is no plan whi"),
        (readme, "iters = 9", "iters = 0", ":23: this plan cannot be read: section 'Hops'"),
        (readme, "--full |", "--ful |", ":20: error: unexpected argument '--ful'"),
        (
            figures,
            "example/answer: machine",
            "sample/answer: machine",
            "README.md:4: machine: sample/answer",
        ),
        (
            figures,
            "/ thread with a pipe",
            "/ thread",
            "README.md:4: kernel: example/answer: What a task holds",
        ),
        (
            figures,
            "[README.hops]",
            "no = \"1\"\n[README.hops]",
            ":1: README.no: no document uses it",
        ),
        (figures, "rows =", "row =", ":1: README.hops: "),
        (figures, "[\"one CPU\"]", "[\"two CPUs\"]", ":1: plots.docs/hops.svg: the table lacks"),
        (
            claims,
            "\"near\"",
            "\"counts\"",
            "docs/MORE.md:5: claims: docs/claims.toml: creating a thread",
        ),
        (
            claims,
            "creating a thread ÷",
            "creating a|thread ÷",
            "docs/MORE.md:5: claims: a cell breaks its table: creating a|thread",
        ),
        (claims, "17 µs ÷ 0.3 µs", "17 KiB", "their unit is not the figure's"),
        (
            figures,
            "/ thread with a pipe",
            "/ thread with pipes",
            "there are 'thread with a pipe', 'async task",
        ),
        (figures, "over pipes / free ÷", "over pipes ÷", "README.md:3: ratio: example/answer"),
        (claims, "17 µs ÷ 0.3 µs", "many", "the quotation has no number"),
    ] {
        let text = read(root, path);
        assert!(text.contains(from), "{from}: {text}");
        let place = if fault.starts_with(':') { path } else { "" };
        fs::write(root.join(path), text.replace(from, to)).unwrap();
        let (status, faults) = documents(root, &["--check"]);
        assert!(
            status == 1 && faults.contains(&format!("{place}{fault}")),
            "{from} -> {to}: {status} {faults}"
        );
        fs::write(root.join(path), text).unwrap();
    }
}
