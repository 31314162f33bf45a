//! Reads a results file line by line, compressed by gzip or not; a line that is not a record is reported with its
//! number and skipped.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use crate::system::console::{self, BadUsage};
use contract::message::Description;
use flate2::bufread::MultiGzDecoder;
use record::{Group, Record, Run, SCHEMA, Trial};
use serde::Deserialize;

/// No line is longer than this, in bytes: a record with as many samples as it may keep is shorter. A file that is not a
/// results file must not fill the memory with one line.
const LONGEST_LINE: u64 = 16 << 20;

/// No results file has more lines that are not records.
const MOST_FAULTS: usize = 1000;

/// Contents of a file.
#[derive(Debug, Default)]
pub struct Contents {
    /// Headers in the file's order.
    pub runs: Vec<Arc<Run>>,
    /// Trials in the file's order, each once, and all trials of a run together.
    pub records: Vec<Record>,
    /// Lines that are not records: their number, from 1, and what is wrong.
    pub faults: Vec<(usize, String)>,
    /// What the program of each row said last, by the run and the row.
    descriptions: HashMap<(u64, u32), Arc<Description>>,
    groups: HashMap<(u64, u32), Arc<Group>>,
    /// True if a run of another schema was reported; its lines are skipped.
    has_others: bool,
}

/// What a gzip file begins with (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a file of records, compressed by gzip or not; `-` is standard input.
///
/// # Errors
/// When it cannot be read, holds no record at all, or is compressed and damaged. A faulty line is skipped, and so is
/// what a compressed file that was cut short lacks.
pub fn read(path: &Path) -> anyhow::Result<Contents> {
    let contents = if path == Path::new("-") {
        unpacked(io::stdin().lock())
    } else {
        File::open(path).and_then(|file| unpacked(BufReader::new(file)))
    };
    let path = path.display();
    let contents = contents.map_err(|e| BadUsage::new(format!("cannot read {path}: {e}")))?;
    if !contents.records.is_empty() {
        return Ok(contents);
    }
    Err(BadUsage::new(match contents.faults.first() {
        Some((line, fault)) => format!("{path} holds no record; line {line}: {fault}"),
        None => {
            format!("{path} holds no record: it is empty, or its run ended before the first one")
        }
    }))
}

fn unpacked(mut file: impl BufRead) -> io::Result<Contents> {
    // A pipe may give its first byte alone.
    let mut begin = Vec::new();
    file.by_ref().take(GZIP.len() as u64).read_to_end(&mut begin)?;
    let file = begin[..].chain(file);
    if begin == GZIP { parse(BufReader::new(MultiGzDecoder::new(file))) } else { parse(file) }
}

/// Reads lines of records.
///
/// # Errors
/// When they cannot be read, or are none of a results file.
pub fn parse(mut lines: impl BufRead) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        match read {
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                contents.faults.push((number, "from here on its gzip data is missing".to_owned()));
                break;
            }
            // What is wrong may stand far above the place where it shows.
            Err(e) if e.kind() == ErrorKind::InvalidInput => {
                return Err(io::Error::other(format!(
                    "its gzip data is damaged ({e}), so any line may be wrong: copy the file again"
                )));
            }
            read => read?,
        };
        if line.is_empty() {
            break;
        }
        if line.len() as u64 >= LONGEST_LINE {
            return Err(io::Error::other(format!(
                "line {number}: it is longer than {} MiB, so it is not a record",
                LONGEST_LINE >> 20
            )));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Err(fault) = take(line.trim_ascii(), &mut contents) {
            // It may quote the line.
            contents.faults.push((number, console::shortened(&fault)));
        }
        if contents.faults.len() >= MOST_FAULTS {
            let (number, fault) = &contents.faults[0];
            return Err(io::Error::other(format!(
                "line {number}: {fault}; it is the first of {MOST_FAULTS} lines that are not records"
            )));
        }
    }
    contents.records = record::once(contents.records);
    Ok(contents)
}

/// Takes a line, or says what is wrong with it.
fn take(line: &[u8], contents: &mut Contents) -> Result<(), String> {
    if !line.starts_with(b"{") {
        return Err("it is not a record: a line of JSON is expected, in UTF-8 without a byte-order mark, plain or compressed \
             by gzip once: name the file that a run wrote by --out".to_owned());
    }
    let head: Head = parsed(line)?;
    if let Some(other) = head.schema.filter(|&schema| schema != SCHEMA) {
        if contents.has_others {
            return Ok(());
        }
        contents.has_others = true;
        return Err(format!(
            "its run has schema {other}, but this version reads only schema {SCHEMA}: read it with the version that wrote it, or measure again"
        ));
    }
    let run = contents.runs.iter().rfind(|run| Some(run.id) == head.run);
    match (head.kind.as_deref(), run) {
        (Some("run"), _) => {
            let run: Run = parsed(line)?;
            if !contents.runs.iter().any(|known| **known == run) {
                contents.runs.push(Arc::new(run));
            }
        }
        (Some("group"), Some(_)) => {
            let group: Group = parsed(line)?;
            contents.groups.insert((group.run, group.group), Arc::new(group));
        }
        (Some("trial"), Some(run)) => {
            let mut trial: Trial = parsed(line)?;
            if run.rows.len() <= trial.row as usize {
                return Err(format!("row {}: its run has none", trial.row));
            }
            let row = (trial.run, trial.row);
            if let Some(description) = trial.description.take() {
                contents.descriptions.insert(row, Arc::new(description));
            }
            let description = contents.descriptions.get(&row).cloned();
            let was_held = trial.memory.is_some_and(|memory| memory.held.is_some());
            if description.is_none() && (trial.samples.is_some() || was_held) {
                return Err("the description of its program is missing above it".to_owned());
            }
            // Its times do not depend on its group.
            let group = trial.group.and_then(|group| contents.groups.get(&(trial.run, group)));
            let header = run.clone();
            contents.records.push(Record::new(header, description, group.cloned(), trial));
        }
        // Lines of other schemas need not have a header.
        _ if contents.has_others => {}
        (Some("group" | "trial"), None) => {
            return Err("the header of its run is missing above it".to_owned());
        }
        _ => return Err("it is not a record: name the file that a run wrote by --out".to_owned()),
    }
    Ok(())
}

/// The part that tells what a line is.
#[derive(Deserialize)]
struct Head {
    kind: Option<String>,
    run: Option<u64>,
    /// Of a header; in schemas 1 and 2, of each line.
    schema: Option<u32>,
}

fn parsed<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|e| {
        // Each line is a text of its own to the parser, so that its line number is always 1.
        let place = format!(" at line {} column {}", e.line(), e.column());
        let fault = e.to_string().replace(&place, "");
        if e.is_eof() {
            "it is cut short: the disk was full, or the writer was stopped".to_owned()
        } else {
            format!("{fault} (column {})", e.column())
        }
    })
}

/// Tells which lines of a file were skipped, and why.
pub fn tell(path: &Path, contents: &Contents) {
    for (line, fault) in &contents.faults {
        console::say(format_args!(
            "switchcost: {} line {line} was skipped: {fault}",
            path.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::testing;

    #[test]
    fn a_line_that_is_no_record_is_told_by_its_number() {
        let text = b"\n{\"kind\":\"run\",\"schema\":4}\nnonsense\n\xff\xfe\n \t \n{\"schema\"";
        let Contents { records, faults, .. } = parse(&text[..]).unwrap();
        let lines: Vec<_> = faults.iter().map(|(line, _)| *line).collect();
        assert_eq!((records.len(), &lines[..]), (0, &[2, 3, 4, 6][..]));
        for (place, words) in
            [(0, "missing field"), (1, "a line of JSON is expected"), (3, "cut short")]
        {
            assert!(faults[place].1.contains(words), "{faults:?}");
        }
    }

    /// What gzip makes of a text.
    fn packed(text: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    /// A header and its trials, a line each.
    fn lines(trials: u32) -> String {
        let Record { header, said, trial, .. } = testing::record("p", 1, &[10; 9]);
        let run = header.id;
        let header = serde_json::to_string(&*header).unwrap();
        let line = |round| {
            let description = said.as_deref().filter(|_| round == 0).cloned();
            serde_json::to_string(&Trial { run, round, description, ..trial.clone() }).unwrap()
        };
        let lines: Vec<String> = (0..trials).map(line).collect();
        format!("{header}\n{}\n", lines.join("\n"))
    }

    /// A trial without its header or its row, and a file of another version.
    #[test]
    fn lines_that_lack_others_and_other_versions_are_told() {
        let text = lines(2);
        let [header, first, second] = text.lines().collect::<Vec<_>>().try_into().unwrap();
        let stray = second.replace("\"row\":0", "\"row\":7");
        let old = [
            "{\"schema\":2,\"kind\":\"run\",\"id\":7}",
            "{\"schema\":2,\"kind\":\"process\",\"run\":7}",
        ];
        let negative = first.replace("\"mean\":", "\"mean\":-");
        let later = ["{\"schema\":5,\"kind\":\"run\",\"id\":8}", "{\"kind\":\"trial\",\"run\":8}"];
        let whole = [header, first];
        for (lines, records, faults) in [
            ([&old[..], &whole].concat(), 1, &["line 1: its run has schema 2"][..]),
            ([&later[..], &whole].concat(), 1, &["line 1: its run has schema 5"]),
            (vec![header, &stray], 0, &["line 2: row 7: its run has none"]),
            (vec![header, &negative], 0, &["line 2: mean: -10 is negative"]),
            (vec![first, second], 0, &["line 1: the header", "line 2: the header"]),
            (vec!["{\"name\":\"x\"}"], 0, &["line 1: it is not a record"]),
        ] {
            let found = parse(lines.join("\n").as_bytes()).unwrap();
            let told: Vec<String> =
                found.faults.iter().map(|(line, fault)| format!("line {line}: {fault}")).collect();
            let are_told = told.iter().zip(faults).all(|(told, fault)| told.starts_with(fault));
            assert!(told.len() == faults.len() && are_told, "{told:?}");
            assert_eq!(found.records.len(), records);
        }
        let read = parse(text.as_bytes()).unwrap().records;
        assert!(read[1].said.is_some() && read[0].said == read[1].said);
    }

    #[test]
    fn a_compressed_file_reads_as_its_lines_do_and_several_in_one_too() {
        let text = lines(3);
        let plain = unpacked(text.as_bytes()).unwrap().records;
        assert_eq!(
            (plain.len(), &unpacked(&*packed(text.as_bytes())).unwrap().records),
            (3, &plain)
        );
        let (first, second) = text.split_at(text.len() / 2);
        let two = [packed(first.as_bytes()), packed(second.as_bytes())].concat();
        assert_eq!(unpacked(&*two).unwrap().records, plain);
        // A pipe may give one byte at a time.
        let slow = BufReader::with_capacity(1, &*two);
        assert_eq!(unpacked(slow).unwrap().records, plain);
    }

    /// What is whole counts, and the rest is told.
    #[test]
    fn a_compressed_file_that_is_damaged_anywhere_loses_no_record_before_that() {
        let whole = packed(lines(20).as_bytes());
        for at in 2..whole.len() {
            let cut = unpacked(&whole[..at]).unwrap();
            assert!(cut.faults.len() == 1 && cut.records.len() <= 20, "{at}: {:?}", cut.faults);
        }
        let nearly = unpacked(&whole[..whole.len() - 1]).unwrap();
        assert_eq!(nearly.records.len(), 20, "only the check sum is cut");
        let mut wrong = whole.clone();
        wrong[whole.len() - 8] ^= 1;
        let error = unpacked(&*wrong).unwrap_err().to_string();
        assert!(error.contains("any line may be wrong"), "{error}");
        for at in (2..whole.len()).step_by(7) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x55;
            // No panic, and no endless loop; a bit of the header, such as the time, may change nothing.
            let _ = unpacked(&*flipped);
        }
    }

    #[test]
    fn input_without_end_is_an_error_of_its_line() {
        let endless = b"short\n".chain(io::repeat(b'x'));
        let error = parse(BufReader::new(endless)).unwrap_err().to_string();
        assert_eq!(error, "line 2: it is longer than 16 MiB, so it is not a record");
        let error = parse(&*b"{}\n".repeat(2000)).unwrap_err().to_string();
        assert!(error.starts_with("line 1: it is not a record: "), "{error}");
    }
}
