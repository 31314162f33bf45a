//! A sweep: one numeric flag over a range, as the tables of a plan.

use std::collections::BTreeMap;

use contract::message::Description;
use host::units::counted;
use record::Metric;

use super::check;
use super::flag_values::FlagValues;
use super::section::{RowTable, Section, Variant};
use super::sections::Plan;
use super::table::ProgramTable;

/// A row for a program's name and its flags, separated by white space.
///
/// # Errors
/// When there is no word.
pub fn row(text: &str) -> Result<RowTable, String> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let (program, flags) = words.split_first().ok_or("it names no program")?;
    let (program, flags) = (Some(program.clone()), flags.to_vec());
    let variant = Variant { name: words.join(" "), program, flags, ..Variant::default() };
    Ok(RowTable { variant, ..RowTable::default() })
}

/// A column of processes that may run on every CPU, or on one.
pub fn placed(pin: bool) -> Variant {
    let name = if pin { "pinned" } else { "unpinned" };
    Variant { name: name.to_owned(), pin, ..Variant::default() }
}

/// The same section, which has been checked. Its iterations follow from the hops, unless it has some.
///
/// # Errors
/// As [`Plan::parse`].
pub fn checked(mut sweep: Section) -> anyhow::Result<Section> {
    sweep.iters = Some(1);
    sweep.fill();
    check::section(&sweep)?;
    Ok(sweep)
}

/// A plan of the rows of a section, in a table for each metric and number of tasks. `ask` makes a program describe its
/// flags; a row stays beside the others if its program does not take them.
pub fn plan(
    sweep: &Section,
    programs: BTreeMap<String, ProgramTable>,
    ask: impl Fn(&Variant) -> Option<Description>,
) -> Plan {
    let mut tables: Vec<Section> = Vec::new();
    let mut others = Vec::new();
    for row in &sweep.rows {
        let Some(description) = ask(&row.variant) else {
            others.push(row.clone());
            continue;
        };
        let metric = match description.hops {
            _ if description.fresh => Metric::Iteration,
            Some(_) => Metric::Hop,
            None => Metric::Task,
        };
        let table = table(sweep, metric, Some(description.tasks));
        match tables.iter_mut().find(|known| known.title == table.title) {
            Some(known) => known.rows.push(row.clone()),
            None => tables.push(Section { rows: vec![row.clone()], ..table }),
        }
    }
    if tables.is_empty() {
        tables.push(table(sweep, Metric::Hop, None));
    }
    tables[0].rows.extend(others);
    Plan { sections: tables, programs, ..Plan::default() }
}

/// The table of a metric and a number of tasks, without rows.
fn table(sweep: &Section, metric: Metric, tasks: Option<u64>) -> Section {
    let FlagValues { flag, unit, .. } = sweep.over.clone().unwrap_or_default();
    let mut swept = if unit.is_empty() { flag.clone() } else { format!("{flag} in {unit}") };
    if let Some(tasks) = tasks.filter(|_| flag != "--tasks" && metric != Metric::Iteration) {
        swept += &format!(", {}", counted(tasks, "task"));
    }
    let title = match metric {
        Metric::Iteration => format!("Time per run over {swept}"),
        _ => metric.title_over(&swept),
    };
    Section { title, metric, rows: Vec::new(), ..sweep.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_and_number_of_tasks_is_a_table() {
        // A hop for each task and one more; creation programs have none, and peers say nothing.
        let ask = |it: &Variant| {
            let program = it.program.as_deref().unwrap();
            let tasks = it.flags.iter().position(|flag| flag == "--tasks");
            let tasks = tasks.map_or(500, |at| it.flags[at + 1].parse().unwrap());
            let hops = (!program.contains("creation")).then_some(tasks + 1);
            let json = serde_json::json!({
                "contract": 1, "program": program, "version": "3", "tasks": tasks, "hops": hops,
                "claim": "no-switch", "passes": [{"name": "main"}]
            });
            (program != "peer").then(|| serde_json::from_value(json).unwrap())
        };
        let programs = ["peer", "thread-brigade", " async-creation  --tasks 9 "];
        let sweep = Section {
            over: Some(FlagValues {
                flag: "--length".to_owned(),
                values: vec![5, 9],
                unit: "us".to_owned(),
            }),
            columns: vec![placed(true)],
            rows: programs.map(|line| row(line).unwrap()).to_vec(),
            ..Section::default()
        };
        let rows = plan(&sweep, BTreeMap::new(), ask).rows();
        let first = rows.iter().filter(|row| row.place.x == Some(5));
        let line = |row: &record::Row| {
            let place = &row.place;
            format!("{}: {}: {}", place.section, place.name(), row.command.flags.join(" "))
        };
        let lines: Vec<String> = first.map(line).collect();
        let hops = "Time per hop over --length in us, 500 tasks";
        let expected = [
            format!("{hops}: thread-brigade, pinned: --length 5us"),
            format!("{hops}: peer, pinned: --length 5us"),
            "Time per task over --length in us, 9 tasks: async-creation --tasks 9, pinned: --tasks 9 --length 5us"
                .to_owned(),
        ];
        assert_eq!(lines, expected);
        assert!(row(" ").is_err());
    }
}
