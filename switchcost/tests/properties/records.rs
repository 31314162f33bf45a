//! Records: what is written is read back as it was, and whatever a file holds, every stage from
//! the reading to the last renderer comes to its end.

use std::io::{self, BufReader};
use std::sync::OnceLock;
use std::time::Duration;

use harness::machine::CpuQuota;
use harness::notes::Note;
use harness::record::{Also, MemoryChange, Metric, PlanPosition, Record};
use harness::recorder::Recorder;
use harness::usage::{Memory, Usage};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Number, Value};
use switchcost::compare::{self, Source};
use switchcost::{analysis, extension, render, store};

use super::{inputs, number};

/// Text with all that a terminal, a table or a page could trip over.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{1,2}",
        any::<String>(),
        Just("\u{1b}[2J\u{9b}31m\r\u{202e}\0".to_owned()),
        Just("</script>|`*\n\"'&".to_owned()),
    ]
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("JSON has finite numbers only", |v| v.is_finite())
}

fn summary() -> impl Strategy<Value = harness::recorder::Summary> {
    let samples = prop::collection::vec(prop_oneof![0..5000_u64, number()], 1..30);
    (samples, 1..30_000_u64).prop_map(|(samples, expected)| {
        let mut recorder = Recorder::new(expected);
        for ns in samples {
            recorder.record(Duration::from_nanos(ns));
        }
        recorder.summary().unwrap()
    })
}

/// The names of metrics, of each quantity and from each part of a record.
const METRICS: [&str; 17] = [
    "hop",
    "task",
    "memory",
    "set-up",
    "first-iteration",
    "round-trip",
    "message",
    "rate",
    "throughput",
    "user",
    "cpu-share",
    "switches",
    "faults",
    "peak-per-task",
    "system-per-task",
    "alive",
    "late-p99",
];

fn metric() -> impl Strategy<Value = Metric> {
    prop::sample::select(&METRICS[..]).prop_map(|name| serde_json::from_value(name.into()).unwrap())
}

fn also() -> impl Strategy<Value = Vec<Also>> {
    let one = (text(), metric()).prop_map(|(name, metric)| Also { name, metric });
    prop::collection::vec(one, 0..3)
}

fn position() -> impl Strategy<Value = PlanPosition> {
    let metric = (metric(), also());
    let names = (text(), text(), text());
    let rows = (
        prop::option::of(text()),
        prop::option::of(text()),
        prop::option::of(prop_oneof![Just("tasks".to_owned()), text()]),
    );
    let places = (0..3_u32, any::<u32>(), number(), any::<bool>());
    (metric, names, rows, places).prop_map(
        |((metric, also), (section, row, column), (baseline, versus, over), places)| PlanPosition {
            section,
            metric,
            also,
            row,
            column,
            baseline,
            versus,
            over,
            twin: places.3,
            index: places.0,
            round: places.1,
            order: places.1,
            seed: places.2,
            run: places.2,
            command: Some("run".to_owned()),
        },
    )
}

fn memory() -> impl Strategy<Value = MemoryChange> {
    let one = || {
        (prop::option::of(number()), number(), number()).prop_map(|(resident, a, b)| Memory {
            resident,
            huge: Some(a % 2),
            page_tables: Some(b),
            system_kernel_stacks: Some(a),
            system_page_tables: Some(b),
            system_slab: Some(a),
            ..Memory::default()
        })
    };
    (one(), prop::option::of(one())).prop_map(|(before, at_rest)| MemoryChange { before, at_rest })
}

/// A record of which nothing has to be true.
fn record() -> impl Strategy<Value = Record> {
    let counts = (prop::option::of(number()), number(), number(), finite());
    let texts = (text(), prop::option::of(text()), prop::option::of(text()));
    (
        prop::option::of(position()),
        prop::option::of(summary()),
        prop::option::of(memory()),
        counts,
        texts,
        any::<bool>(),
    )
        .prop_map(|(plan, samples, memory, counts, texts, partial)| {
            let (hops, tasks, tokens, figure) = counts;
            let (name, error, model) = texts;
            let mut record = Record {
                plan,
                samples: samples.clone(),
                memory,
                hops,
                per_hop: Some(figure),
                partial,
                error: error.filter(|_| partial),
                usage: Some(Usage {
                    user: tasks,
                    voluntary_switches: tokens,
                    minor_faults: tasks,
                    ..Usage::default()
                }),
                payload: hops,
                peak_alive: Some(tasks),
                peak_resident: Some(tokens),
                setup: hops,
                first_iteration: Some(tokens),
                started: tasks,
                ..Record::empty(&name, vec![name.clone()])
            };
            for name in [name, "late".to_owned()] {
                record
                    .distributions
                    .extend(samples.clone().map(|s| (name, s)));
            }
            record.params.insert("tasks".to_owned(), tasks.into());
            record.params.insert("tokens".to_owned(), tokens.into());
            record.notes.push(Note::NotSteady { relative: figure });
            record.machine.cpu_model = model;
            record.machine.load_average = Some([figure; 3]);
            record.machine.cpu_quota = Some(CpuQuota::Limited {
                quota_us: tokens,
                period_us: 1,
            });
            record
        })
}

/// Every stage from records to the last renderer.
fn every_stage(records: &[Record]) {
    let analysis = analysis::analyse(records);
    let mut shown = [const { Vec::new() }; 5];
    let [text, markdown, csv, of_two, of_three] = &mut shown;
    let written: io::Result<()> = (|| {
        render::text(&analysis, records, text)?;
        render::markdown(&analysis, records, markdown)?;
        render::csv(records, csv)?;
        render::html(&analysis, records, &mut Vec::new())?;
        let source = |name| Source { name, records };
        let pair = compare::compare(&[source("old"), source("new")]);
        render::compare::text(&pair, of_two)?;
        let three = compare::compare(&[source("a"), source("b"), source("c")]);
        render::compare::markdown(&three, of_three)?;
        serde_json::to_string(&pair)?;
        Ok(())
    })();
    written.unwrap();
    for shown in shown {
        let shown = String::from_utf8(shown).unwrap();
        let command = shown
            .chars()
            .find(|c| c.is_control() && !"\n\t".contains(*c));
        assert_eq!(command, None, "no terminal may be sent this:\n{shown:?}");
    }
    serde_json::to_string(&analysis).unwrap();
    render::answer::answer(&analysis);
    extension::missed(records, 0.02);
    extension::decided(records);
}

/// The lines of the fixture: records that a whole plan could have left.
fn fixture() -> &'static [String] {
    static LINES: OnceLock<Vec<String>> = OnceLock::new();
    LINES.get_or_init(|| {
        let text = include_str!("../fixtures/plan.jsonl");
        // Short ones, so that a change hits something else than the series.
        text.lines()
            .map(|line| {
                let mut record: Record = serde_json::from_str(line).unwrap();
                if let Some(samples) = &mut record.samples {
                    samples.series.batch = samples.count;
                    samples.series.sums = vec![samples.count];
                }
                serde_json::to_string(&record).unwrap()
            })
            .collect()
    })
}

/// Something else than what stands in a record.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        finite().prop_map(|v| Number::from_f64(v).map_or(Value::Null, Value::Number)),
        text().prop_map(Value::String),
        prop::collection::vec(number(), 0..4).prop_map(Value::from),
    ]
}

/// Every value within a value, itself included.
fn parts<'a>(value: &'a mut Value, visit: &mut impl FnMut(&'a mut Value)) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|v| parts(v, visit)),
        Value::Object(fields) => fields.values_mut().for_each(|v| parts(v, visit)),
        leaf => visit(leaf),
    }
}

/// Replaces one leaf of a record by something else.
fn replace(record: &mut Value, at: Index, by: Value) {
    let mut leaves = 0;
    parts(record, &mut |_| leaves += 1);
    let chosen = at.index(leaves.max(1));
    let mut seen = 0;
    let mut by = Some(by);
    parts(record, &mut |leaf| {
        if seen == chosen
            && let Some(by) = by.take()
        {
            *leaf = by;
        }
        seen += 1;
    });
}

proptest! {
    #![proptest_config(inputs(64))]

    #[test]
    fn a_record_is_read_as_it_was_written(record in record()) {
        let line = serde_json::to_string(&record).unwrap();
        prop_assert!(!line.contains('\n'));
        let again: Record = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(again, record);
    }

    #[test]
    fn no_record_stops_a_stage(records in prop::collection::vec(record(), 0..12)) {
        every_stage(&records);
    }

    #[test]
    fn believed_or_not_a_changed_record_stops_no_stage(
        changes in prop::collection::vec((any::<Index>(), any::<Index>(), value()), 1..8),
        cut in 4..40_usize,
    ) {
        let mut values: Vec<Value> = fixture()
            .iter()
            .step_by(fixture().len() / cut)
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        for (which, place, by) in changes {
            let which = which.index(values.len());
            replace(&mut values[which], place, by);
        }
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        let all: Vec<Record> = lines
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        every_stage(&all);
        let contents = store::parse(BufReader::new(lines.join("\n").as_bytes())).unwrap();
        prop_assert_eq!(contents.records.len() + contents.faults.len(), lines.len());
        every_stage(&contents.records);
    }
}

proptest! {
    #![proptest_config(inputs(256))]

    #[test]
    fn any_bytes_are_a_file_of_records(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let contents = store::parse(&bytes[..]).unwrap();
        prop_assert!(contents.records.is_empty());
        let lines = bytes.split(|&b| b == b'\n').count();
        prop_assert!(contents.faults.iter().all(|(line, _)| (1..=lines).contains(line)));
    }

    #[test]
    fn a_damaged_line_takes_no_other_with_it(
        at in any::<Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..6),
        cut in 0..40_usize,
    ) {
        let lines = fixture();
        let mut damaged = lines[at.index(lines.len())].clone().into_bytes();
        let from = at.index(damaged.len());
        let noise: Vec<u8> = noise.into_iter().filter(|&b| b != b'\n').collect();
        damaged.splice(from..(from + cut).min(damaged.len()), noise);
        let file = [lines[0].as_bytes(), &damaged, lines[1].as_bytes()].join(&b'\n');
        let contents = store::parse(&file[..]).unwrap();
        let whole: Vec<Record> = contents.records;
        let first: Record = serde_json::from_str(&lines[0]).unwrap();
        let last: Record = serde_json::from_str(&lines[1]).unwrap();
        prop_assert_eq!(whole.first(), Some(&first));
        prop_assert_eq!(whole.last(), Some(&last));
        for (line, _) in &contents.faults {
            prop_assert_eq!(*line, 2);
        }
    }
}
