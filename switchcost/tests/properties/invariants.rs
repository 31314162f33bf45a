//! What holds of any input, whether a property test has made it or a fuzzer (`fuzz/` has this file too).

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path};

use ::limits::Limits;
use contract::message::{Answer, Description, Need, Needs, Request};
use contract::units::{Bytes, Span};
use facts::machine::cpu_map::CpuMap;
use facts::{Metric, machine};
use serde::Serialize;
use serde::de::DeserializeOwned;
use switchcost::figures::Figures;
use switchcost::measure::store;
use switchcost::plan::Plan;
use switchcost::plan::range::Range;
use switchcost::plan::scheduling::Cpus;
use switchcost::plan::setting::Change;
use switchcost::plan::sweep::CommandLine;
use switchcost::plan::values;
use switchcost::render;
use switchcost::views::answer;
use switchcost::views::duel::Duel;
use tempfile::TempDir;

/// Printed as JSON, a thing is read as it was.
fn reads_as_it_prints<T: Serialize + DeserializeOwned + PartialEq + Debug>(thing: &T) {
    let text = serde_json::to_string(thing).unwrap();
    let again: T = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(&again, thing, "{text}");
}

/// A file of records: its lines are read as they print, and everything can be made of them.
pub(crate) fn records(file: &[u8]) {
    let Ok(contents) = store::parse(file) else { return };
    contents.runs.iter().for_each(|run| reads_as_it_prints(&**run));
    contents.records.iter().for_each(|record| reads_as_it_prints(&record.process));
    let mut out = Vec::new();
    if contents.records.iter().any(|record| record.side.is_some()) {
        render::duel::document(&Duel::of(&contents.records)).text(80, &mut out).unwrap();
        return;
    }
    let figures = Figures::of(&contents.records);
    render::document(&figures).text(80, &mut out).unwrap();
    render::html(&figures, &mut out).unwrap();
    render::csv(&figures, &mut out).unwrap();
    if let Some(answer) = answer::Answer::of(&figures) {
        render::answer::markdown(&answer, &mut out).unwrap();
    }
}

/// A plan: its cases can be listed, and are of rounds and printable names.
pub(crate) fn plan(text: &str) {
    let Ok(plan) = Plan::parse(text) else { return };
    for (quick, plan) in [(false, plan.clone()), (true, plan.quickened())] {
        for case in plan.cases(quick) {
            assert!(!case.cell.name().contains(char::is_control));
            assert!(case.rounds > 0 && !case.command().is_empty());
            let metric = &case.section.metric;
            assert_eq!(metric.to_string().parse().as_ref(), Ok(metric));
            let _ = (case.matches("free"), case.twin());
        }
    }
}

/// The value of a flag, whichever: it is refused, or in its bounds and read as it prints.
pub(crate) fn flag(text: &str) {
    if let Ok(cpus) = text.parse::<Cpus>() {
        assert!(!cpus.list().is_empty() && cpus.list().is_sorted_by(|a, b| a < b));
        assert_eq!(cpus.to_string().parse(), Ok(cpus));
    }
    if let Ok(range) = text.parse::<Range>() {
        let points = range.points(2);
        assert_eq!(Range::new(points[0], points[1]), Ok(range));
        let many = range.points(300);
        assert!(many.len() <= 300 && many.is_sorted_by(|a, b| a < b), "{many:?}");
    }
    if let Ok(metric) = text.parse::<Metric>() {
        assert_eq!(metric.to_string().parse(), Ok(metric));
    }
    if let Ok(line) = text.parse::<CommandLine>() {
        assert_eq!(line.to_string().parse(), Ok(line));
    }
    if let Ok(share) = values::percent(text) {
        assert!(share.is_finite() && share >= 0.0);
        assert_eq!(
            values::percent(&format!("{:?}", share * 100.0)).is_ok(),
            (share * 100.0).is_finite()
        );
    }
    if let Ok(span) = values::time_limit(text) {
        assert_eq!(values::duration(&format!("{}ns", span.as_nanos())), Ok(span));
    }
    if let Ok(Span(ns)) = text.parse() {
        assert_eq!(format!("{ns}ns").parse(), Ok(Span(ns)));
    }
    if let Ok(Bytes(bytes)) = text.parse() {
        assert_eq!(bytes.to_string().parse(), Ok(Bytes(bytes)));
    }
}

/// A part of a setting: a shell reads it as one word, and it is read as it prints.
pub(crate) fn setting(text: &str) {
    let Ok(change) = text.parse::<Change>() else { return };
    let printed = change.to_string();
    let words = shlex::split(&printed).unwrap_or_default();
    assert_eq!(words.len(), 1, "{printed}");
    assert_eq!(words[0].parse(), Ok(change), "{printed}");
}

/// A line of the contract, of either side.
pub(crate) fn contract(line: &[u8]) {
    if let Ok(answer) = serde_json::from_slice::<Answer>(line) {
        reads_as_it_prints(&answer);
    }
    if let Ok(description) = serde_json::from_slice::<Description>(line) {
        reads_as_it_prints(&description);
        for tasks in [0, 1, u64::MAX] {
            let _ = description.needs.beside(u32::MAX).chains(u32::MAX).bytes.of(tasks);
        }
    }
    if let Ok(request) = Request::parse(&String::from_utf8_lossy(line)) {
        assert_eq!(Request::parse(&request.to_string()), Ok(request));
    }
}

/// A system, unpacked from one text: `=== path` before each file. What cannot be a file there is left out.
pub(crate) fn unpacked(text: &[u8]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let made = |path: &[u8]| {
        let path = String::from_utf8_lossy(path.trim_ascii()).into_owned();
        let is_inside = |part| matches!(part, Component::Normal(_));
        let path = Some(Path::new(&path)).filter(|path| path.components().all(is_inside))?;
        fs::create_dir_all(root.path().join(path.parent()?)).ok()?;
        File::create(root.path().join(path)).ok()
    };
    let mut file = None;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if let Some(path) = line.strip_prefix(b"=== ") {
            file = made(path);
        } else if let Some(file) = &mut file {
            file.write_all(line).unwrap();
        }
    }
    root
}

/// The files of a kernel: what is read from them is printed and read again, and adds up.
pub(crate) fn system(text: &[u8]) {
    let root = unpacked(text);
    let machine = machine::read_under(root.path());
    reads_as_it_prints(&machine);
    assert!(!machine.summary().is_empty() && machine.same_machine(&machine).is_empty());

    let map = CpuMap::read_under(root.path());
    for &cpu in &map.representatives(&map.online) {
        assert!(map.online.contains(&cpu));
        assert_eq!(map.relation(cpu, map.online[0]), map.relation(map.online[0], cpu));
    }

    let limits = Limits::read_under(root.path());
    let needs = Needs {
        descriptors: Need::new(20, 2),
        threads: Need::new(0, 1),
        maps: Need::new(128, 4),
        bytes: Need::new(1 << 20, 50_000),
        ..Needs::default()
    };
    for tasks in [1, 2, u64::from(u32::MAX), u64::MAX] {
        let most = limits.tightest(&needs).map_or(u64::MAX, |(_, most)| most);
        assert_eq!(limits.allow(&needs, tasks), tasks <= most, "{tasks} of {most}");
    }
}
