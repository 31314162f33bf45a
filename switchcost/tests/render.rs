//! What a file of invented records is made into, byte by byte.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use figures::Figures;
use record::{Record, Run};
use switchcost::measure::store;
use switchcost::render::{self, FiguresReport, Format, Report};
use switchcost::views::answer::Answer;
use switchcost::views::comparison::Comparison;

use crate::support::process::Outcome;
use crate::support::{FIXTURE, RESULTS, golden, switchcost};

mod browser;
mod doubts;

fn records() -> Vec<Record> {
    let contents = store::read(FIXTURE.as_ref()).expect("the fixture is there");
    assert!(contents.faults.is_empty(), "{:?}", contents.faults);
    contents.records
}

/// The same records of a run whose header is another one.
fn with_header(mut records: Vec<Record>, change: impl Fn(&mut Run)) -> Vec<Record> {
    let mut header = Run::clone(&records[0].header);
    change(&mut header);
    let header = Arc::new(header);
    records.iter_mut().for_each(|record| record.header = header.clone());
    records
}

fn made(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("a vector takes everything");
    String::from_utf8(bytes).expect("text")
}

fn page(records: &[Record]) -> String {
    formatted(&Figures::of(records), Format::Html)
}

#[test]
fn every_format_is_stable() {
    let records = records();
    let figures = Figures::of(&records);
    let answer = Answer::of(&figures).expect("the fixture has one");
    let more = Some("switchcost report FILE --full");
    for (name, text) in [
        ("answer", made(|out| render::answer::document(&answer, more).text(80, out))),
        ("text", made(|out| render::figures::document(&figures).text(120, out))),
        ("markdown", formatted(&figures, Format::Markdown)),
        ("csv", formatted(&figures, Format::Csv)),
    ] {
        golden(&format!("fixtures/snapshots/{name}.txt"), &text);
    }
}

/// Headings, names with a path, and figures with a remark are in lines of their own where they are too wide.
#[test]
fn what_is_wide_fits_a_narrow_terminal() {
    let of = |name: &str| store::read(&Path::new(RESULTS).join(name)).unwrap().records;
    let (sizes, duel) =
        (of("xeon6b-2vcpu-6.18/waiting.jsonl.gz"), of("xeon6b-2vcpu-6.18/knobs.jsonl.gz"));
    let (figures, duel) = (Figures::of(&sizes), Comparison::of_duel(&duel));
    for width in [60, 80] {
        for document in [render::figures::document(&figures)].into_iter().chain(duel.documents()) {
            let text = made(|out| document.text(width, out));
            let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= width, "{width}: {widest}");
        }
    }
}

/// Text is for people; files and programs have UTF-8.
#[test]
fn text_is_in_the_characters_of_the_locale() {
    let is_ascii = |locale, format| {
        let run = switchcost("report").flags("--full --format").arg(format).arg(FIXTURE);
        run.env("LC_ALL", Some(locale)).finish().expect_quiet_success().stdout.is_ascii()
    };
    assert!(is_ascii("C", "text") && !is_ascii("C", "markdown") && !is_ascii("C.UTF-8", "text"));
}

/// All figures in a format.
fn formatted(figures: &Figures<'_>, format: Format) -> String {
    let answer = Answer::of(figures);
    let report = FiguresReport { figures, answer: answer.as_ref(), full: true, more: None };
    made(|out| format.write(&report, out))
}

fn report(arguments: &[&str]) -> Outcome {
    let run = arguments.iter().fold(switchcost("report"), |run, argument| run.arg(argument));
    run.finish().expect(0)
}

#[test]
fn the_verb_writes_what_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let html = path("a.html");
    assert_eq!(report(&[FIXTURE, "--html", &html]).expect_quiet_success().stdout, "");
    let records = records();
    let figures = Figures::of(&records);
    let json = report(&[FIXTURE, "--format", "json"]);
    let written: serde_json::Value = serde_json::from_str(json.line()).unwrap();
    for (written, figure) in written["figures"].as_array().unwrap().iter().zip(figures.iter()) {
        assert_eq!(*written, serde_json::to_value(figure).unwrap());
    }
    assert!(written["curves"].is_array());
    // All that the text says.
    let answer = Answer::of(&figures).expect("the fixture has one");
    assert_eq!(written["answer"], serde_json::to_value(&answer).unwrap());
    assert!(fs::read_to_string(&html).unwrap() == page(&records));
    assert_eq!(report(&[FIXTURE, "--format", "csv"]).stdout, formatted(&figures, Format::Csv));
    // As text does, Markdown has the answer, or all tables.
    let markdown = report(&[FIXTURE, "--format", "markdown"]).stdout;
    assert_eq!(markdown, made(|out| render::answer::document(&answer, None).markdown(out)));
    let full = report(&[FIXTURE, "--format", "markdown", "--full"]).stdout;
    assert_eq!(full, formatted(&figures, Format::Markdown));
    report(&[FIXTURE, "--svg", &path("plots")]);
    assert!(fs::read_to_string(path("plots/answer.svg")).unwrap().contains(">Example, 8 CPUs, "));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left over");
}

/// The fixture; the same of another machine whose plan asks one question less; and of a third one a plan without an
/// answer.
fn three_files(folder: &Path) -> [String; 3] {
    let text = fs::read_to_string(FIXTURE).unwrap();
    let (header, processes) = text.split_once('\n').unwrap();
    let changed = |name: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let mut header = serde_json::from_str(header).unwrap();
        change(&mut header);
        let path = folder.join(name);
        fs::write(&path, format!("{header}\n{processes}")).unwrap();
        path.display().to_string()
    };
    let without = |header: &mut serde_json::Value, is_gone: &dyn Fn(&str) -> bool| {
        for row in header["rows"].as_array_mut().unwrap() {
            if is_gone(row["row"].as_str().unwrap()) {
                row.as_object_mut().unwrap().remove("ties");
            }
        }
    };
    [
        changed("a.jsonl", &|_| {}),
        changed("b.jsonl", &|header| {
            header["machine"]["cpu_model"] = "Another <b>CPU</b>".into();
            without(header, &|row| row == "thread");
        }),
        changed("c.jsonl", &|header| {
            header["machine"]["cpu_model"] = "A third CPU".into();
            without(header, &|_| true);
        }),
    ]
}

#[test]
fn several_files_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, c] = three_files(folder.path());
    let text = report(&[&a, &b, &c]).expect_quiet_success().stdout;
    // The ratios come first, then the machines, their costs and what is to say of each.
    let order = [
        " of an async task's\n",
        "\nMachines\n",
        "\ncost of a thread\n",
        "\nb\nAnother <b>CPU</b>, 8 CPUs, ",
        "\nc\n",
    ];
    let places = order.map(|what| text.find(what).unwrap_or_else(|| panic!("no '{what}': {text}")));
    assert!(places.is_sorted(), "{places:?}: {text}");
    let is_of_ratios =
        |line: &str| line.split_whitespace().eq("cost of a thread 39x [36, 42] - -".split(' '));
    assert!(text.lines().any(is_of_ratios), "{text}");
    assert!(text.contains(&format!("Not in {b}: cost of a thread.\n")), "{text}");
    assert!(text.contains(&format!("Not in {c}: cost of a thread over pipes, free; ")), "{text}");
    assert!(!text.contains(&format!("Not in {a}")), "{text}");
    // Two modes are two figures wherever the row stands.
    assert!(
        [&text, &report(&[&a]).stdout].iter().all(|text| text.contains("780 ns/1.5 µs")),
        "{text}"
    );

    let [json, csv, markdown, html] =
        [["--format", "json"], ["--format", "csv"], ["--format", "markdown"], ["--html", "-"]].map(
            |flags| {
                let run = report(&[&[a.as_str(), &b, &c][..], &flags].concat());
                run.expect_quiet_success().stdout
            },
        );
    assert!(csv.contains("\nb,") && !csv.contains("\nc,"), "{csv}");
    let machines: serde_json::Value = serde_json::from_str(&json).unwrap();
    let answer = Answer::of(&Figures::of(&records())).expect("the fixture has one");
    assert_eq!(machines[0]["answer"]["rows"], serde_json::to_value(&answer.rows).unwrap());
    let names = machines[1]["answer"]["rows"].as_array().unwrap().iter().map(|row| &row["name"]);
    let names: Vec<_> = names.collect();
    assert_eq!(names.len() + 1, answer.rows.len());
    assert!(names.iter().all(|name| *name != "cost of a thread"), "{names:?}");
    assert!(machines[2]["answer"].is_null(), "{machines}");
    // Only a page of the project has its documents beside it.
    assert!(html.contains("<h2>Machines</h2>") && !html.contains("href=\".."), "{html}");
    assert!(!html.contains("<tr class=\"\">"), "{html}");
    assert_eq!(html.matches("<figcaption>").count(), 1);
    for page in [html, markdown] {
        assert!(page.contains("Another &lt;b") && !page.contains("<b>"), "{page}");
        assert!(page.contains("cost of a thread with a pipe"), "{page}");
    }
}

/// As by `cat a a`, and by two runs that write at the same time.
#[test]
fn records_that_are_there_twice_or_in_another_order_count_once() {
    let first = fs::read_to_string(FIXTURE).unwrap();
    let id = records()[0].run.to_string();
    let second = first.replace(&id, "7").replace("\"mean\":3", "\"mean\":4");
    let by_turns: Vec<&str> = first.lines().zip(second.lines()).flat_map(|(a, b)| [a, b]).collect();
    for (whole, repeated, mixed) in [
        (first.clone(), 0, first.clone()),
        (first.clone(), 184, first.repeat(3)),
        (first.clone() + &second, 0, by_turns.join("\n")),
        (first.clone() + &second, 184, first.clone() + &second + &first),
    ] {
        let [whole, mixed] =
            [whole, mixed].map(|text| store::parse(text.as_bytes()).unwrap().records);
        let [figures, found] = [&whole, &mixed].map(|records| Figures::of(records));
        assert_eq!(formatted(&found, Format::Csv), formatted(&figures, Format::Csv));
        let told = Answer::of(&found).unwrap();
        let told = serde_json::to_string(&told).unwrap();
        let doubt = format!("Given several times, but counted once: {repeated} records.");
        assert_eq!(told.contains(&doubt), repeated > 0, "{told}");
    }
}

/// Sessions of one machine are one column, and a file without an answer is none if its machine has one.
#[test]
fn a_machine_is_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, c] = three_files(folder.path());
    let none = folder.path().join("none.jsonl").display().to_string();
    let text = fs::read_to_string(c).unwrap().replace("A third CPU", "Example CPU");
    fs::write(&none, text).unwrap();
    let run = report(&[&none, &a, &b, &a, "--format", "json"]);
    assert!(run.stderr.contains("none.jsonl was left out: it holds no answer"), "{run}");
    let machines: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let names = machines.as_array().unwrap().iter().map(|machine| &machine["name"]);
    assert!(names.eq(["a", "b"]), "{machines}");
    let csv = |files: &[&str]| report(&[files, &["--format", "csv"]].concat()).stdout;
    assert_eq!(csv(&[&a, &none]), csv(&[&a]));
}

#[test]
fn the_page_is_folded_below_the_answer_and_follows_the_theme() {
    let html = page(&records());
    let (_, body) = html.split_once("</style>").unwrap();
    for attribute in [" fill=", " stroke=", " style=", " color="] {
        assert!(!body.contains(attribute), "{attribute}: a colour that no theme changes");
    }
    let (top, folded) = body.split_once("<nav").unwrap();
    assert!(top.contains("thread ÷ task") && top.contains("<svg"), "{top}");
    let links = folded.matches("<a href=\"#part-").count();
    assert!(links > 8);
    assert_eq!(folded.matches("<details>").count(), links);
    // Without an answer the first table is open.
    let bare = with_header(records(), |run| {
        run.rows.iter_mut().for_each(|row| row.ties.answer = None);
    });
    let html = page(&bare);
    let (top, _) = html.split_once("<nav").unwrap();
    assert_eq!(top.matches("<h2>").count(), 1, "{top}");
}

/// Office programs and converters know no variables of CSS: to them all would be black.
#[test]
fn a_file_of_a_plot_is_light_everywhere_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("plots").display().to_string();
    let run = report(&[FIXTURE, "--svg", &plots]);
    assert!(run.stdout.is_empty(), "{run}");
    let files: Vec<PathBuf> =
        fs::read_dir(&plots).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(run.stderr.lines().count(), files.len());
    for file in files {
        assert!(run.stderr.contains(&format!("wrote {}\n", file.display())), "{run}");
        let svg = fs::read_to_string(file).unwrap();
        assert!(svg.contains(".plot .paper{fill:#fff}") && !svg.contains("var("), "{svg}");
        assert!(!svg.contains("@media"), "{svg}");
    }
}
