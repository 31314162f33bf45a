//! Rows and columns of text, for a terminal or in Markdown.

use std::io::{self, Write};

use crate::system::console::plain_line;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::markdown::escaped;

/// A table as people see it: each line has the name of a row, or of what is derived from it and
/// then indented, and one text for each column.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// The column headings, that of the names first; on a terminal they may have several lines.
    pub head: Vec<String>,
    /// The lines, each as long as the head.
    pub body: Vec<Vec<String>>,
}

/// A table without frames: only its head is underlined.
const RULE_BELOW_HEAD: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The spaces beside a cell.
const PADDING: usize = 2;

/// The space between two cells.
const BETWEEN: usize = 1;

impl Grid {
    /// Writes it in aligned columns of which so many characters stand abreast: those that do not fit come
    /// below, with the names again. Only a name or a figure that is wider by itself exceeds the width.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write_text(&self, width: usize, out: &mut impl Write) -> io::Result<()> {
        for (index, part) in self.parts(width).iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            for line in part.table().lines() {
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }

    /// The table in as many parts as it takes for each to fit, with one column at least beside the
    /// names. Lines that say nothing in a part are left out of it.
    fn parts(&self, width: usize) -> Vec<Grid> {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut used = 0;
        for column in 1..self.head.len() {
            match parts.last_mut() {
                Some(part) if used + self.room(column) <= width + BETWEEN => part.push(column),
                _ => {
                    parts.push(vec![0, column]);
                    used = self.room(0);
                }
            }
            used += self.room(column);
        }
        parts.iter().map(|columns| self.part(columns)).collect()
    }

    /// Width of a column with the space around it.
    fn room(&self, column: usize) -> usize {
        let cells = [&self.head].into_iter().chain(&self.body).filter_map(|line| line.get(column));
        let lines = cells.flat_map(|cell| cell.lines()).map(|line| line.chars().count());
        lines.max().unwrap_or(0) + PADDING + BETWEEN
    }

    fn part(&self, columns: &[usize]) -> Grid {
        let cells = |line: &Vec<String>| -> Vec<String> {
            columns.iter().filter_map(|&column| line.get(column)).cloned().collect()
        };
        let mut body: Vec<Vec<String>> = self.body.iter().map(cells).collect();
        body.retain(|line| line.iter().skip(1).any(|cell| !cell.is_empty()));
        Grid { head: cells(&self.head), body }
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table
            .load_style(RULE_BELOW_HEAD)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.head.iter().map(|head| {
                let lines: Vec<_> = head.lines().map(plain_line).collect();
                lines.join("\n")
            }))
            .add_rows(self.body.iter().map(|cells| cells.iter().map(|cell| plain_line(cell))));
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    /// Writes it as a Markdown table.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write_markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let line = |cells: &[String]| -> String {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell).into_owned()).collect();
            cells.join(" | ")
        };
        writeln!(out, "| {} |", line(&self.head))?;
        let columns = self.head.len().saturating_sub(1);
        writeln!(out, "| --- |{}", " ---: |".repeat(columns))?;
        for row in &self.body {
            if let Some((name, cells)) = row.split_first() {
                let trimmed = name.trim_start();
                let indent = if trimmed == name { "" } else { "&emsp;" };
                let name = escaped(trimmed);
                writeln!(out, "| {indent}{name} | {} |", line(cells))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(grid: &Grid, width: usize) -> String {
        let mut text = Vec::new();
        grid.write_text(width, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_does_not_fit_abreast_comes_below() {
        let line = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let grid = Grid {
            head: line(["", "free", "rate", "switches"]),
            body: vec![
                line(["thread", "5.000µs [4.0, 6.0]", "200.0 k/s [1, 2]", "1.000 [1, 1]"]),
                line(["  ÷ task", "2.0x [1.0, 3.0]", "", ""]),
                line(["goroutine", "failed¹", "-", "-"]),
            ],
        };
        assert_eq!(
            text(&grid, 52),
            "                           free               rate
───────────────────────────────────────────────────
 thread      5.000µs [4.0, 6.0]   200.0 k/s [1, 2]
   ÷ task       2.0x [1.0, 3.0]
 goroutine              failed¹                  -

                 switches
──────────────────────────
 thread      1.000 [1, 1]
 goroutine              -
"
        );
        // As wide as it likes; and no narrower than a column beside the names.
        assert_eq!(text(&grid, 200).lines().count(), 5);
        assert_eq!(text(&grid, 51).matches("goroutine").count(), 2);
        assert_eq!(text(&grid, 1).matches("goroutine").count(), 3);
    }

    #[test]
    fn names_cannot_leave_their_cells() {
        let grid = Grid {
            head: vec![String::new(), "a|b".to_owned()],
            body: vec![vec!["  <b>\nc".to_owned(), "1 [0, 2]".to_owned()]],
        };
        let mut markdown = Vec::new();
        grid.write_markdown(&mut markdown).unwrap();
        let markdown = String::from_utf8(markdown).unwrap();
        assert!(markdown.starts_with("|  | a\\|b |\n"), "{markdown}");
        assert!(markdown.ends_with("| &emsp;&lt;b> c | 1 [0, 2] |\n"), "{markdown}");
    }
}
