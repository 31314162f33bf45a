//! Text within a given width: a table that is continued below where it is too wide, and wrapped
//! sentences.

use std::io::{self, Write};

/// A table whose first three columns stay and whose others are headed by a program's name, its
/// words below each other.
#[derive(Debug, Default)]
pub(crate) struct Table {
    fixed: Vec<String>,
    programs: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns first.
    pub(crate) fn new<const N: usize>(fixed: [&str; N]) -> Self {
        Table {
            fixed: fixed.map(str::to_owned).to_vec(),
            ..Table::default()
        }
    }

    /// Adds the column of a program.
    pub(crate) fn column(&mut self, program: &str) {
        self.programs.push(program.to_owned());
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Writes it; programs that do not fit beside the others come below, with the first column
    /// again.
    pub(crate) fn write(&self, width: usize, out: &mut impl Write) -> io::Result<()> {
        let first = self.fixed.len();
        let mut next = first;
        // The first column alone, once the table goes on below.
        let mut kept: Vec<usize> = (0..first).collect();
        while next < first + self.programs.len() {
            let mut used: usize = kept.iter().map(|c| self.width_of(*c) + 1).sum();
            let mut columns = kept.clone();
            // One at least, however narrow it is.
            loop {
                columns.push(next);
                used += self.width_of(next) + 1;
                next += 1;
                let more = next < first + self.programs.len();
                if !more || used + self.width_of(next) > width {
                    break;
                }
            }
            if kept.len() < first {
                writeln!(out)?;
            }
            self.write_columns(&columns, out)?;
            kept = vec![0];
        }
        Ok(())
    }

    fn write_columns(&self, columns: &[usize], out: &mut impl Write) -> io::Result<()> {
        let heads: Vec<Vec<&str>> = columns.iter().map(|c| self.head(*c)).collect();
        let lines = heads.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..lines {
            let cells = heads.iter().map(|head| {
                // They stand on the last line.
                let above = lines - head.len();
                line.checked_sub(above).map_or("", |i| head[i])
            });
            self.write_line(columns, cells, out)?;
        }
        for row in &self.rows {
            let cells = columns
                .iter()
                .map(|c| row.get(*c).map_or("", String::as_str));
            self.write_line(columns, cells, out)?;
        }
        Ok(())
    }

    fn write_line<'a>(
        &self,
        columns: &[usize],
        cells: impl Iterator<Item = &'a str>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut line = String::new();
        for (column, cell) in columns.iter().zip(cells) {
            let padding = " ".repeat(self.width_of(*column) - cell.chars().count());
            match column {
                0 => line = format!("{cell}{padding}"),
                _ => line += &format!(" {padding}{cell}"),
            }
        }
        writeln!(out, "{}", line.trim_end())
    }

    fn head(&self, column: usize) -> Vec<&str> {
        match self.fixed.get(column) {
            Some(head) => vec![head],
            None => self.programs[column - self.fixed.len()]
                .split('-')
                .collect(),
        }
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let cells = cells.map(|cell| cell.chars().count());
        let heads = self
            .head(column)
            .into_iter()
            .map(|word| word.chars().count());
        cells.chain(heads).max().unwrap_or(0)
    }
}

/// Writes text in lines of at most `width` columns where its words allow it; all but the first
/// are indented.
pub(crate) fn wrapped(
    text: &str,
    indent: usize,
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let lead = text.len() - text.trim_start().len();
    let mut line = " ".repeat(lead);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let longer = line.chars().count() + 1 + word.chars().count();
        if !is_empty && longer > width {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_that_is_too_wide_goes_on_below() {
        let mut table = Table::new(["limit", "value"]);
        for program in ["one-thread-brigade", "async-creation"] {
            table.column(program);
        }
        let row = ["pids.max", "7", "123*", "·"];
        table.row(row.map(str::to_owned).to_vec());
        assert_eq!(
            text(|out| table.write(100, out)),
            "                   one\n\
             \x20               thread    async\n\
             limit    value brigade creation\n\
             pids.max     7    123*        ·\n"
        );
        assert_eq!(
            text(|out| table.write(24, out)),
            "                   one\n\
             \x20               thread\n\
             limit    value brigade\n\
             pids.max     7    123*\n\n\
             \x20           async\n\
             limit    creation\n\
             pids.max        ·\n"
        );
    }

    #[test]
    fn sentences_are_wrapped_between_words() {
        let sentence = |width| text(|out| wrapped("  one two three", 4, width, out));
        assert_eq!(sentence(80), "  one two three\n");
        assert_eq!(sentence(9), "  one two\n    three\n");
        assert_eq!(sentence(1), "  one\n    two\n    three\n");
    }
}
