use std::sync::Arc;

use record::{Group, Memory, MemoryChange, Swept, Trial, Waits};

use super::*;
use crate::cube::Figures;
use crate::grade::Grade;
use crate::testing;
use crate::trials::{row, sessions, sizes};

fn kinds(record: &Record) -> Vec<DoubtKind> {
    of_process(record).iter().map(|doubt| doubt.kind).collect()
}

#[test]
fn samples_are_short_by_the_clock_that_took_them() {
    let of = |ns| {
        let mut record = testing::record("p", 1, &[ns; 9]);
        Arc::make_mut(&mut record.header).machine.set("clock_step_ns", 20);
        record
    };
    assert_eq!(kinds(&of(2000)), []);
    let mut record = of(1999);
    assert_eq!(kinds(&record), [DoubtKind::ShortSamples]);
    Arc::make_mut(record.said.as_mut().unwrap()).arrivals = Some(250);
    assert_eq!(kinds(&record), []);
}

#[test]
fn a_time_that_changes_within_turns_is_disturbed() {
    let trials = |changes: &[f64], error: Option<f64>| -> Vec<Record> {
        let of = |&change: &f64| {
            let mut record = testing::record("p", 1, &[10_000; 9]);
            let thirds = Thirds { first: 1000.0, last: 1000.0 * (1.0 + change), error };
            record.trial.thirds = Some(thirds);
            record
        };
        changes.iter().map(of).collect()
    };
    // t(0.9995, 5) is 6.869 in printed tables: at the edge, 0.1 is 6.869 standard errors.
    let spread = |by: f64| [-by, 0.0, by, -by, 0.0, by].map(|off: f64| (0.1 + off).exp_m1());
    let deviation = |by: f64| by * (4.0_f64 / 5.0).sqrt();
    let edge = 0.1 / 6.869 * 6_f64.sqrt() / deviation(1.0);
    for (changes, error, is_doubt) in [
        (&spread(0.99 * edge)[..], None, true),
        (&spread(1.01 * edge), None, false),
        (&[-0.2; 6], None, true),
        (&[0.04; 6], None, false),
        (&[-0.2], Some(10.0), true),
        (&[-0.2], Some(80.0), false),
        (&[-0.2], None, false),
        (&[], None, false),
    ] {
        let mut trials = trials(changes, error);
        let doubt = not_steady(&trials.iter().collect::<Vec<_>>());
        assert_eq!(
            doubt.map(|doubt| doubt.kind),
            is_doubt.then_some(DoubtKind::NotSteady),
            "{changes:?}"
        );
        assert!(!is_doubt || DoubtKind::NotSteady.grade() == Grade::Disturbed);
        if let [one] = &trials[..] {
            assert_eq!(kinds(one).contains(&DoubtKind::NotSteady), is_doubt);
        }
        for trial in &mut trials {
            Arc::make_mut(&mut trial.header).rows[0].effort.pause_ms = Some(1);
        }
        assert_eq!(not_steady(&trials.iter().collect::<Vec<_>>()), None);
    }
}

#[test]
fn turns_after_a_pause_are_not_pooled_with_steady_ones() {
    let pause = testing::record("p", 1, &[10_000; 9]);
    let mut steady = pause.clone();
    Arc::make_mut(&mut steady.header).steady = true;
    let of = |records: &[&Record]| -> Vec<DoubtKind> {
        let records: Vec<Record> = records.iter().map(|record| (*record).clone()).collect();
        of_records(&records).iter().map(|doubt| doubt.kind).collect()
    };
    assert_eq!(of(&[&steady]), []);
    assert_eq!(of(&[&pause]), [DoubtKind::AfterPause]);
    assert_eq!(of(&[&pause, &steady]), [DoubtKind::OtherMachine, DoubtKind::AfterPause]);
}

#[test]
fn what_a_quota_stopped_is_a_doubt() {
    let free = testing::record("p", 1, &[10_000; 9]);
    let mut record = free.clone();
    for (throttled, doubts) in [(0, vec![]), (5_000_000, vec![DoubtKind::Throttled])] {
        let waits = Waits { throttled: Some(throttled), ..Waits::default() };
        let group = Group { run: 1, group: 0, ended: 1, account: None, waits };
        record.group = Some(Arc::new(group));
        assert_eq!(kinds(&record), doubts);
        let timed = [&record, &free].map(|record| Timed { record, corrected: None });
        let [stopped, free] = timed.each_ref();
        let trials = [stopped, free, stopped, free, stopped];
        assert_eq!(of_row(&trials, &Metric::Task).len(), doubts.len());
        assert_eq!(of_row(&trials[..4], &Metric::Task), []);
        assert_eq!(of_row(&trials, &Metric::Memory), []);
        let mut runs = sizes(100, 0);
        runs.iter_mut().for_each(|run| run.group = record.group.clone());
        let figures = Figures::of(&runs);
        assert!(figures.iter().all(|size| size.grade == Grade::Sure));
    }
}

#[test]
fn huge_pages_are_a_doubt_of_a_size() {
    let mut records = sessions(&row("a"), &[[10_000]]);
    for (huge, is_doubt) in [(0, false), (2 << 20, true)] {
        let held = Some(Memory { huge: Some(huge), ..Memory::default() });
        records[0].trial.memory = Some(MemoryChange { before: Memory::default(), held });
        assert_eq!(kinds(&records[0]).contains(&DoubtKind::HugePages), is_doubt);
        let grades: Vec<Grade> = Figures::of(&records).iter().map(|of| of.grade).collect();
        assert_eq!(grades, [Grade::Sure]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_if_tasks_were_held() {
    let mut record = testing::record("p", 1, &[10_000; 9]);
    for (resident, peak_resident, names) in [
        (None, Some(1), vec![]),
        (None, None, vec!["/proc/PID/smaps_rollup", "/proc/meminfo"]),
        (Some(1), Some(1), vec!["/proc/meminfo"]),
    ] {
        let held = Some(Memory { resident, peak_resident, ..Memory::default() });
        record.trial.memory = Some(MemoryChange { before: Memory::default(), held });
        let doubts: Vec<Doubt> = unreadable(&record).collect();
        assert_eq!(doubts.iter().map(|doubt| &doubt.subject).collect::<Vec<_>>(), names);
    }
}

#[test]
fn a_machine_is_loaded_by_its_load_or_by_what_waits() {
    let run = |(load, pressure): (f64, f64)| {
        let mut run = Run::default();
        run.machine.set("cpus_online", "0-3");
        run.machine.set("load_average", vec![load, 0.0, 0.0]);
        run.machine.set("pressure", serde_json::json!({ "cpu": pressure }));
        run
    };
    for (of, is_loaded) in [((7.9, 40.0), false), ((8.1, 0.0), true), ((0.0, 51.0), true)] {
        assert_eq!(loaded(&[&run(of)]).is_some(), is_loaded, "{of:?}");
    }
    // Of several runs the busiest counts.
    let runs = [(8.2, 5.0), (9.0, 60.0), (12.0, 0.0)].map(run);
    let text = loaded(&runs.each_ref()).unwrap().text;
    assert!(text.ends_with("load average 12 on 4 CPUs, CPU pressure 0 %."), "{text}");
}

#[test]
fn points_of_a_curve_share_a_name() {
    let records: Vec<Record> = [("a", Some(1)), ("a", Some(2)), ("b", None)]
        .map(|(name, x)| {
            let mut row = row(name);
            let swept = Swept { flag: "--tasks".to_owned() };
            (row.place.x, row.swept) = (x, x.map(|_| swept));
            testing::in_row(row, testing::description(1), Trial::begin())
        })
        .into();
    let figures = Figures::of(&records);
    assert_eq!(names(&figures.iter().collect::<Vec<_>>()), ["a, --tasks 1, 2", "b"]);
}

#[test]
fn what_a_program_left_behind_is_named() {
    let mut record = testing::record("p", 1, &[10_000; 9]);
    record.trial.left_behind = Some("sleep".to_owned());
    assert!(of_process(&record)[0].text.ends_with("they were ended: sleep."));
}

#[test]
fn chains_on_more_cpus_than_were_checked_are_a_doubt() {
    for (chains, cpus, is_doubt) in [(4, "0-1", false), (1, "0-7", false), (2, "0-7", true)] {
        let mut record = testing::record("p", 1, &[10_000; 9]);
        Arc::make_mut(record.said.as_mut().unwrap()).chains = chains;
        let row = &mut Arc::make_mut(&mut record.header).rows[0];
        row.command.setting.cpus = Some(cpus.parse().unwrap());
        assert_eq!(kinds(&record) == [DoubtKind::Unvalidated], is_doubt);
    }
}
