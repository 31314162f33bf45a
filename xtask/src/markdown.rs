//! Tables in Markdown.

use anyhow::ensure;

/// Columns on the right.
pub(crate) const NUMBERS: &str = " ---: |";

/// A table in Markdown; its first column is on the left.
pub(crate) fn table<T: AsRef<str>>(
    head: &[T],
    others: &str,
    rows: &[Vec<String>],
) -> anyhow::Result<String> {
    let head: Vec<&str> = head.iter().map(AsRef::as_ref).collect();
    let others = others.repeat(head.len() - 1);
    let mut lines = format!("| {} |\n| --- |{others}\n", head.join(" | "));
    for row in rows {
        let broken = row.iter().find(|cell| cell.contains(['|', '\n']));
        ensure!(broken.is_none(), "a cell breaks its table: {}", broken.map_or("", |cell| cell));
        lines += &format!("| {} |\n", row.join(" | "));
    }
    Ok(lines)
}
