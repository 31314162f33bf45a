//! Comma-separated values, for a spreadsheet or a data frame.

use std::io;

use serde_json::Value;

use crate::render::report::Spreadsheet;

pub(super) fn write(spreadsheet: &Spreadsheet, out: &mut Vec<u8>) -> io::Result<()> {
    let columns = spreadsheet.columns.iter();
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(columns.clone().map(|(name, _)| name))?;
    for line in &spreadsheet.lines {
        let values = columns.clone().map(|(_, path)| line.pointer(path));
        writer.write_record(values.map(|value| value.map_or(String::new(), shown)))?;
    }
    writer.flush()
}

/// A value as a field; nothing if it is unknown.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        // Whole numbers without a point.
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or(String::new(), |number| number.to_string())
        }
        Value::String(text) => defused(text),
        value => value.to_string(),
    }
}

/// A text that a spreadsheet does not take for a formula: an apostrophe precedes it if it begins like one.
fn defused(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}
