//! Rows and columns of text, for a terminal or in Markdown.

use std::io::{self, Write};

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

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
        let mut table = Table::new();
        table
            .load_style(RULE_BELOW_HEAD)
            .set_header(&self.head)
            .add_rows(&self.body);
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
        writeln!(out, "| {} |", self.head.join(" | "))?;
        let columns = self.head.len().saturating_sub(1);
        writeln!(out, "| --- |{}", " ---: |".repeat(columns))?;
        for line in &self.body {
            if let Some((name, cells)) = line.split_first() {
                let trimmed = name.trim_start();
                let indent = if trimmed == name { "" } else { "&emsp;" };
                writeln!(out, "| {indent}{trimmed} | {} |", cells.join(" | "))?;
            }
        }
        Ok(())
    }
}
