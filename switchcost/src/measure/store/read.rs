//! Reads a results file line by line; a line that is no record is reported with its number and skipped.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use crate::system::console;
use anyhow::{Context, bail};
use facts::{Kind, Process, Record, Run, SCHEMA};
use serde::Deserialize;

/// No line is longer than this, in bytes: a record with all samples that may be kept takes less. A file that is
/// no results file must not take the memory of its longest line.
pub(super) const LONGEST_LINE: u64 = 16 << 20;

/// No file is longer than this, in bytes.
const LONGEST_FILE: u64 = 1 << 30;

/// No file has more lines, most of which are of a process each.
const MOST_LINES: usize = 1_000_000;

/// No file of records has more lines that are none.
const MOST_FAULTS: usize = 1000;

/// Contents of a file.
#[derive(Debug, Default)]
pub struct Contents {
    /// Headers in the file's order.
    pub runs: Vec<Arc<Run>>,
    /// Processes in the file's order.
    pub records: Vec<Record>,
    /// Lines that are no record: their number, from 1, and what is wrong.
    pub faults: Vec<(usize, String)>,
}

/// Reads a file of records; `-` is standard input.
///
/// # Errors
/// When it cannot be read, or holds no record at all. A faulty line is skipped.
pub fn read(path: &Path) -> anyhow::Result<Contents> {
    let contents = read_any(path)?;
    if !contents.records.is_empty() {
        return Ok(contents);
    }
    let path = path.display();
    if let Some((line, fault)) = contents.faults.first() {
        bail!("{path} holds no record; line {line}: {fault}");
    }
    let what = if contents.runs.is_empty() { "is empty" } else { "holds no record" };
    bail!("{path} {what}: its run ended before the first; --resume begins it")
}

/// The same of a file that may not have any record yet.
pub fn read_any(path: &Path) -> anyhow::Result<Contents> {
    let contents = if path == Path::new("-") {
        parse(io::stdin().lock())
    } else {
        File::open(path).and_then(|file| parse(BufReader::new(file)))
    };
    contents.with_context(|| format!("cannot read {}", path.display()))
}

/// Reads lines of records.
pub fn parse(mut lines: impl BufRead) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let mut line = Vec::new();
    let mut bytes = 0;
    for number in 1.. {
        line.clear();
        lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            break;
        }
        let is_whole = line.last() == Some(&b'\n');
        bytes += line.len() as u64;
        let is_endless = line.len() as u64 >= LONGEST_LINE && !is_whole;
        if let Some(what) = excess(is_endless, bytes, number, &contents.faults) {
            return Err(io::Error::other(format!("line {number}: {what}")));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Err(fault) = take(line.trim_ascii(), is_whole, &mut contents) {
            // It may quote the line.
            contents.faults.push((number, console::shortened(&fault)));
        }
    }
    Ok(contents)
}

/// What no file of records has: it would take the memory, or never end.
fn excess(
    is_endless: bool,
    bytes: u64,
    number: usize,
    faults: &[(usize, String)],
) -> Option<String> {
    Some(if is_endless {
        format!("it is longer than {} MiB, as no record is", LONGEST_LINE >> 20)
    } else if bytes > LONGEST_FILE {
        format!("the file is longer than {} MiB up to here", LONGEST_FILE >> 20)
    } else if number > MOST_LINES {
        format!("{MOST_LINES} lines precede it, the most that are read")
    } else {
        let (_, last) = faults.last().filter(|_| faults.len() >= MOST_FAULTS)?;
        format!("{MOST_FAULTS} lines before it are no records; the last one: {last}")
    })
}

/// Takes a line, or says what is wrong with it.
fn take(line: &[u8], is_whole: bool, contents: &mut Contents) -> Result<(), String> {
    let head: Head = parsed(line, is_whole)?;
    match (head.schema, head.kind) {
        (SCHEMA, Kind::Run) => contents.runs.push(Arc::new(parsed(line, is_whole)?)),
        (SCHEMA, Kind::Process) => {
            let process = parsed::<Process>(line, is_whole)?;
            let run = contents.runs.iter().rfind(|run| run.id == process.run);
            let run = run.ok_or("the header of its run is not above it")?;
            contents.records.push(Record::new(run.clone(), process)?);
        }
        (0, _) => {
            return Err("it has no schema: what --format json writes is no record, but what \
                        --out names is"
                .to_owned());
        }
        (other, _) => {
            return Err(format!("it has schema {other}, and this program reads {SCHEMA}"));
        }
    }
    Ok(())
}

/// The part that tells what a line is.
#[derive(Deserialize)]
struct Head {
    /// 0 if it has none.
    #[serde(default)]
    schema: u32,
    #[serde(default)]
    kind: Kind,
}

fn parsed<'a, T: Deserialize<'a>>(line: &'a [u8], is_whole: bool) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|e| {
        // Each line is a text of its own to the parser, so that its line number is always 1.
        let place = format!(" at line {} column {}", e.line(), e.column());
        let what = e.to_string().replace(&place, "");
        if e.is_eof() && !is_whole {
            "it is cut short: the disk was full, or the writer was stopped".to_owned()
        } else {
            format!("{what} (column {})", e.column())
        }
    })
}

/// Tells which lines of a file were skipped, and why.
pub fn tell(path: &Path, contents: &Contents) {
    for (line, fault) in &contents.faults {
        console::say(format_args!(
            "switchcost: {} line {line} is skipped: {fault}",
            path.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use facts::Ending;

    use super::*;
    use crate::testing;

    #[test]
    fn a_line_that_is_no_record_is_told_by_its_number() {
        let text = b"\n{\"schema\":2,\"kind\":\"process\"}\nnonsense\n\xff\xfe\n \t \n{\"schema\"";
        let Contents { records, faults, .. } = parse(&text[..]).unwrap();
        let lines: Vec<_> = faults.iter().map(|(line, _)| *line).collect();
        assert_eq!((records.len(), &lines[..]), (0, &[2, 3, 4, 6][..]));
        for (place, words) in [(0, "missing field"), (1, "(column 2)"), (3, "cut short")] {
            assert!(faults[place].1.contains(words), "{faults:?}");
        }
    }

    #[test]
    fn input_without_end_is_an_error_of_its_line() {
        let endless = b"short\n".chain(io::repeat(b'x'));
        let error = parse(BufReader::new(endless)).unwrap_err().to_string();
        assert_eq!(error, "line 2: it is longer than 16 MiB, as no record is");
        let error = parse(&*b"{}\n".repeat(2000)).unwrap_err().to_string();
        assert!(
            error.starts_with("line 1001: 1000 lines before it are no records; the last one: ")
        );
        let error = parse(BufReader::new(io::repeat(b'\n'))).unwrap_err().to_string();
        assert_eq!(error, "line 1000001: 1000000 lines precede it, the most that are read");
        assert!(excess(false, LONGEST_FILE + 1, 1, &[]).is_some());
    }

    #[test]
    fn a_case_that_was_not_tried_is_known_in_old_files_too() {
        let mut record = testing::record("p", 1, &[10; 9]);
        let run = serde_json::to_string(&*record.header).unwrap();
        record.process.run = record.header.id;
        for (error, ending) in [
            (Some("not run: no room"), Ending::NotRun("no room")),
            (Some("no room"), Ending::Failed("no room")),
            (None, Ending::Measured),
        ] {
            record.process.error = error.map(str::to_owned);
            let process = serde_json::to_string(&record.process).unwrap();
            let contents = parse(format!("{run}\n{process}\n").as_bytes()).unwrap();
            assert_eq!(contents.records[0].outcome(), ending);
        }
    }
}
