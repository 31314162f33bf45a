//! Rows and columns of text, for a terminal or in Markdown.

use std::io::{self, Write};

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use harness::plain::plain_line;

use super::html::{Escaped, Figure};
use crate::rounds::NOT_RUN;

/// A table as people see it: each line has the name of a row, or of what is derived from it and
/// then indented, and one text for each column.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// The column headings, that of the names first.
    pub head: Vec<String>,
    /// The lines, each as long as the head.
    pub body: Vec<Vec<String>>,
}

/// A table without frames: only its head is underlined.
const RULE_BELOW_HEAD: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

impl Grid {
    /// Writes it in aligned columns.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        // Before it is laid out: what is written out takes room.
        let line = |cells: &Vec<String>| -> Vec<String> {
            cells.iter().map(|cell| plain_line(cell).into()).collect()
        };
        let mut table = Table::new();
        table
            .load_style(RULE_BELOW_HEAD)
            .set_header(line(&self.head))
            .add_rows(self.body.iter().map(line));
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// Writes it as a Markdown table.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let line = |cells: &[String]| -> String {
            let cells: Vec<String> = cells.iter().map(|cell| as_markdown(cell)).collect();
            cells.join(" | ")
        };
        writeln!(out, "| {} |", line(&self.head))?;
        let columns = self.head.len().saturating_sub(1);
        writeln!(out, "| --- |{}", " ---: |".repeat(columns))?;
        for row in &self.body {
            if let Some((name, cells)) = row.split_first() {
                let trimmed = name.trim_start();
                let indent = if trimmed == name { "" } else { "&emsp;" };
                let name = as_markdown(trimmed);
                writeln!(out, "| {indent}{name} | {} |", line(cells))?;
            }
        }
        Ok(())
    }

    /// Writes it as an HTML table.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_html(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "<table>\n<thead><tr>")?;
        for head in &self.head {
            match head.as_str() {
                "" => write!(out, "<td></td>")?,
                head => write!(out, "<th scope=\"col\">{}</th>", Escaped(head))?,
            }
        }
        writeln!(out, "</tr></thead>\n<tbody>")?;
        for row in &self.body {
            let Some((name, cells)) = row.split_first() else {
                continue;
            };
            let trimmed = name.trim_start();
            let class = if trimmed == name {
                ""
            } else {
                " class=\"derived\""
            };
            let name = Escaped(trimmed);
            write!(out, "<tr{class}><th scope=\"row\">{name}</th>")?;
            for cell in cells {
                let class = if is_words(cell) {
                    " class=\"words\""
                } else {
                    ""
                };
                write!(out, "<td{class}>{}</td>", Figure(cell))?;
            }
            writeln!(out, "</tr>")?;
        }
        writeln!(out, "</tbody>\n</table>")
    }
}

/// Whether a cell holds a reason rather than a figure: it may take several lines.
fn is_words(cell: &str) -> bool {
    cell.starts_with("failed: ") || cell.starts_with(NOT_RUN)
}

/// Text that leaves a Markdown table as it is.
fn as_markdown(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(
            markdown.ends_with("| &emsp;&lt;b> c | 1 [0, 2] |\n"),
            "{markdown}"
        );
        let mut html = Vec::new();
        grid.write_html(&mut html).unwrap();
        let html = String::from_utf8(html).unwrap();
        assert!(
            html.contains("<tr class=\"derived\"><th scope=\"row\">&lt;b&gt;"),
            "{html}"
        );
    }
}
