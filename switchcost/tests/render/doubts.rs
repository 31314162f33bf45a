//! What makes an answer less sure stands in it.

use std::path::Path;
use std::sync::Arc;

use figures::Figures;
use record::Record;
use switchcost::measure::store;
use switchcost::render;
use switchcost::views::answer::Answer;

use super::{made, page, with_header};
use crate::support::{RESULTS, results};

/// A committed answer by its machine.
fn committed(machine: &str) -> Vec<Record> {
    store::read(&Path::new(RESULTS).join(machine).join("answer.jsonl.gz")).unwrap().records
}

/// The answer as a terminal shows it.
fn answer(records: &[Record]) -> String {
    let figures = Figures::of(records);
    let answer = Answer::of(&figures).unwrap();
    let more = Some("switchcost report FILE --full");
    let text = made(|out| render::answer::document(&answer, more).text(80, out));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text
}

const QUIET: &str = "epyc5-2vcpu-6.18";
const NOISY: &str = "epyc-2vcpu-6.18";

/// Of which rows the tasks ran on which scheduler, the records tell, and every view says.
#[test]
fn an_answer_names_the_schedulers_of_its_tasks() {
    let views = |records: &[Record]| {
        let figures = Figures::of(records);
        let whole = Answer::of(&figures).unwrap();
        let markdown = made(|out| render::answer::document(&whole, None).markdown(out));
        [markdown, page(records)]
    };
    let mut records = committed(QUIET);
    let two = "Tokio's runtime is multi-thread, except in 'switch in memory': current-thread.";
    for view in views(&records) {
        assert!(view.replace("&#39;", "'").contains(two), "{view}");
    }
    for said in records.iter_mut().filter_map(|record| record.said.as_mut()) {
        if let Some(runtime) = &mut Arc::make_mut(said).runtime {
            runtime.flavor = "one-page".to_owned();
        }
    }
    for view in views(&records) {
        let view = view.replace("&#39;", "'");
        assert!(view.contains("Tokio's runtime is one-page.") && !view.contains("except"));
    }
}

#[test]
fn what_should_not_have_been_measured_or_pooled_comes_first() {
    let quiet = committed(QUIET);
    let pooled = [quiet.clone(), committed(NOISY)].concat();
    let debug = with_header(quiet.clone(), |run| {
        drop(run.build.insert("profile".to_owned(), "debug".into()))
    });
    let dirty =
        with_header(quiet.clone(), |run| drop(run.build.insert("dirty".to_owned(), true.into())));
    let quiet = answer(&quiet);
    for (records, doubt) in [
        (pooled, "DIFFERENT MACHINES"),
        (debug, "built without optimisation"),
        (dirty, "uncommitted changes"),
    ] {
        let text = answer(&records);
        let at = text.find(doubt).unwrap_or_else(|| panic!("{doubt}: {text}"));
        assert!(at < text.find("switch through pipes").unwrap(), "{text}");
        assert!(!quiet.contains(doubt));
    }
}

#[test]
fn a_figure_that_its_counters_contradict_is_marked_in_the_answer() {
    let mut records = committed(QUIET);
    for record in
        records.iter_mut().filter(|record| record.row().command.program == "thread-brigade")
    {
        if let Some(usage) = &mut record.trial.usage {
            (usage.voluntary_switches, usage.involuntary_switches) = (0, 0);
        }
    }
    let text = answer(&records);
    assert!(
        text.contains("! Not what its name says: there are fewer switches than hops"),
        "{text}"
    );
    let row = text.lines().find(|line| line.contains("switch through pipes, one CPU")).unwrap();
    // The thread and the ratio, and not the task.
    assert_eq!(row.matches('!').count(), 2, "{row}");
    assert!(!answer(&committed(QUIET)).contains('!'));
}

#[test]
fn what_the_machine_did_is_said() {
    let noisy = committed(NOISY);
    let text = answer(&noisy);
    assert!(text.contains("~ The CPUs ran slowly"), "{text}");
    // There is room for no more.
    assert!(text.contains("3 more doubts:"), "{text}");
}

#[test]
fn several_sessions_of_a_machine_are_its_samples() {
    let quiet = committed(QUIET);
    let sessions = |count: u64| {
        let session = |id: u64| {
            let mut records = with_header(quiet.clone(), |run| run.id = id);
            records.iter_mut().for_each(|record| record.trial.run = id);
            for record in
                records.iter_mut().filter(|r| r.row().command.program.starts_with("thread"))
            {
                for slice in &mut record.trial.slices {
                    slice.total += slice.total * id / 50;
                }
            }
            records
        };
        (1..=count).flat_map(session).collect::<Vec<_>>()
    };
    for (count, brackets) in [(3, "Brackets: the span"), (5, "Brackets: 95 %")] {
        let records = sessions(count);
        let text = answer(&records);
        assert!(text.contains(&format!("{count} sessions")) && text.contains(brackets), "{text}");
        let figures = Figures::of(&records);
        let readings = figures.iter().filter_map(|figure| figure.reading());
        let samples: Vec<usize> = readings.map(|reading| reading.mean.n).collect();
        assert!(samples.iter().all(|n| *n == count as usize) && samples.len() > 10, "{samples:?}");
    }
}

#[test]
fn a_row_without_figures_is_named_with_its_reason() {
    let mut records = committed(QUIET);
    let whole = answer(&records);
    for record in
        records.iter_mut().filter(|record| record.row().command.program == "thread-brigade")
    {
        record.trial.samples = None;
        record.trial.error = Some("no descriptor is left".to_owned());
    }
    let text = answer(&records);
    let lines = text.replace('\n', " ");
    for row in ["switch through pipes, unpinned", "switch through pipes, one CPU"] {
        assert!(
            whole.contains(row) && !text.lines().any(|line| line.starts_with(&format!(" {row}"))),
            "{text}"
        );
        let (_, named) = lines.split_once("Not measured: ").unwrap_or_else(|| panic!("{text}"));
        assert!(named.contains(row) && named.contains("no descriptor is left."), "{text}");
    }
    assert!(!whole.contains("Not measured") && text.lines().count() <= 22, "{text}");
}

#[test]
fn each_committed_answer_fits_a_terminal() {
    let mut answers = results();
    answers.retain(|path| path.ends_with("answer.jsonl.gz"));
    for path in &answers {
        let text = answer(&store::read(path).unwrap().records);
        assert!(text.lines().count() <= 22, "{text}");
    }
    assert!(answers.len() > 5);
}

/// A figure has the mark of its grade in a sentence, too, and so has what is made of it.
#[test]
fn sentences_have_the_marks_of_their_figures() {
    let text = answer(&committed(NOISY)).replace('\n', " ");
    for sentence in ["switches/s use ~6.9 to 23 % of a CPU (async tasks: ~0.12 to 3.0 %)", "~"] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}

/// Records of which some rows lack one round more than others have no interval.
fn without_intervals() -> Vec<Record> {
    let mut records = committed(QUIET);
    records.retain(|record| {
        record.round < 3 + u32::from(record.row().command.program.starts_with("thread"))
    });
    records
}

#[test]
fn a_doubt_stands_once_on_a_page_and_few_stand_open() {
    let page = page(&without_intervals());
    assert_eq!(page.matches("No interval: ").count(), 1, "{page}");
    assert!(page.matches("class=\"banner\"").count() <= 4);
    // What is below needs no command that prints it.
    assert!(!page.contains("--full"));
}
