//! Reads a results file line by line, compressed by gzip or not; a line that is not a record is reported with its number
//! and skipped.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use crate::system::console;
use anyhow::{Context, bail};
use facts::{Kind, Process, Record, Run, SCHEMA};
use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;

/// No line is longer than this, in bytes: a record with as many samples as it may keep is shorter. A file that is not a
/// results file must not fill the memory with one line.
pub(super) const LONGEST_LINE: u64 = 16 << 20;

/// No file is longer than this, in bytes, unpacked.
const LONGEST_FILE: u64 = 1 << 30;

/// No file has more lines; most lines hold one process.
const MOST_LINES: usize = 1_000_000;

/// No results file has more lines that are not records.
const MOST_FAULTS: usize = 1000;

/// Contents of a file.
#[derive(Debug, Default)]
pub struct Contents {
    /// Headers in the file's order.
    pub runs: Vec<Arc<Run>>,
    /// Processes in the file's order.
    pub records: Vec<Record>,
    /// Lines that are not records: their number, from 1, and what is wrong.
    pub faults: Vec<(usize, String)>,
}

/// What a gzip file begins with (RFC 1952, 2.3.1).
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a file of records, compressed by gzip or not; `-` is standard input.
///
/// # Errors
/// When it cannot be read, or holds no record at all. A faulty line is skipped, and so is what is left of a compressed
/// file that is damaged or cut short.
pub fn read(path: &Path) -> anyhow::Result<Contents> {
    let contents = if path == Path::new("-") {
        unpacked(io::stdin().lock())
    } else {
        File::open(path).and_then(|file| unpacked(BufReader::new(file)))
    };
    let contents = contents.with_context(|| format!("cannot read {}", path.display()))?;
    if !contents.records.is_empty() {
        return Ok(contents);
    }
    let path = path.display();
    if let Some((line, fault)) = contents.faults.first() {
        bail!("{path} holds no record; line {line}: {fault}");
    }
    let what = if contents.runs.is_empty() { "is empty" } else { "holds no record" };
    bail!("{path} {what}: its run ended before the first one")
}

fn unpacked(mut file: impl BufRead) -> io::Result<Contents> {
    if file.fill_buf()?.starts_with(&GZIP) {
        parse(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        parse(file)
    }
}

/// Reads lines of records.
///
/// # Errors
/// When they cannot be read, or are none of a results file.
pub fn parse(mut lines: impl BufRead) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let mut line = Vec::new();
    let mut bytes = 0;
    for number in 1.. {
        line.clear();
        let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if let Err(e) = &read
            && [ErrorKind::UnexpectedEof, ErrorKind::InvalidData, ErrorKind::InvalidInput]
                .contains(&e.kind())
        {
            contents.faults.push((number, format!("from here on its gzip data is damaged: {e}")));
            break;
        }
        read?;
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

/// What a results file never has, since it would fill the memory or never end.
fn excess(
    is_endless: bool,
    bytes: u64,
    number: usize,
    faults: &[(usize, String)],
) -> Option<String> {
    Some(if is_endless {
        format!("it is longer than {} MiB, so it is not a record", LONGEST_LINE >> 20)
    } else if bytes > LONGEST_FILE {
        format!("up to here the file is already longer than {} MiB", LONGEST_FILE >> 20)
    } else if number > MOST_LINES {
        format!("a results file has at most {MOST_LINES} lines")
    } else {
        let (_, last) = faults.last().filter(|_| faults.len() >= MOST_FAULTS)?;
        format!("{MOST_FAULTS} lines before it are not records; the last of them: {last}")
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
            let run = run.ok_or("the header of its run is missing above it")?;
            contents.records.push(Record::new(run.clone(), process)?);
        }
        (0, _) => {
            return Err("it has no schema: it is no record if --format json wrote it; name the file of --out"
                .to_owned());
        }
        (other, _) => {
            return Err(format!("it has schema {other}, but this program reads schema {SCHEMA}"));
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
            "switchcost: {} line {line} was skipped: {fault}",
            path.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use facts::Ending;
    use flate2::Compression;
    use flate2::write::GzEncoder;

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

    /// What gzip makes of a text.
    fn packed(text: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    /// A header and its processes, a line each.
    fn lines(processes: usize) -> String {
        let record = testing::record("p", 1, &[10; 9]);
        let run = serde_json::to_string(&*record.header).unwrap();
        let process = Process { run: record.header.id, ..record.process };
        let process = serde_json::to_string(&process).unwrap() + "\n";
        format!("{run}\n{}", process.repeat(processes))
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
        for at in (2..whole.len()).step_by(7) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x55;
            // No panic, and no endless loop; a bit of the header, such as the time, may change nothing.
            let _ = unpacked(&*flipped);
        }
    }

    #[test]
    fn a_small_file_that_unpacks_to_gigabytes_is_refused() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        io::copy(&mut io::repeat(b'x').take(2 * LONGEST_LINE), &mut gzip).unwrap();
        let error = unpacked(&*gzip.finish().unwrap()).unwrap_err().to_string();
        assert!(error.contains("longer than 16 MiB"), "{error}");
    }

    #[test]
    fn input_without_end_is_an_error_of_its_line() {
        let endless = b"short\n".chain(io::repeat(b'x'));
        let error = parse(BufReader::new(endless)).unwrap_err().to_string();
        assert_eq!(error, "line 2: it is longer than 16 MiB, so it is not a record");
        let error = parse(&*b"{}\n".repeat(2000)).unwrap_err().to_string();
        assert!(
            error
                .starts_with("line 1001: 1000 lines before it are not records; the last of them: ")
        );
        let error = parse(BufReader::new(io::repeat(b'\n'))).unwrap_err().to_string();
        assert_eq!(error, "line 1000001: a results file has at most 1000000 lines");
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
