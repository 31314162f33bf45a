//! Tables of the page.

use maud::{Markup, html};

use crate::render::grid::{Grid, is_words};

/// A table that scrolls by itself where it is too wide; one that is `wide` keeps its names in sight.
pub(super) fn scrolled(grid: &Grid, title: &str, wide: bool) -> Markup {
    html! {
        div.scroll.wide[wide] tabindex="0" role="region" aria-label=(title) {
            table {
                thead { tr {
                    @for head in &grid.head {
                        @if head.is_empty() { td {} } @else { th scope="col" { (head) } }
                    }
                } }
                tbody { @for line in &grid.body { (row(line, grid.head.len())) } }
            }
        }
    }
}

/// The last cell of a short line, a reason, has the rest of the columns.
fn row(line: &[String], columns: usize) -> Markup {
    let Some((name, cells)) = line.split_first() else {
        return Markup::default();
    };
    let trimmed = name.trim_start();
    html! {
        tr.derived[trimmed != name] {
            th scope="row" { (trimmed) }
            @for (index, cell) in cells.iter().enumerate() {
                @let is_last = index + 2 == line.len();
                @let rest = columns.checked_sub(line.len()).filter(|n| is_last && *n > 0).map(|n| n + 1);
                td.words[is_words(cell)] colspan=[rest] { (figure(cell)) }
            }
        }
    }
}

/// A figure, its interval set apart: on a telephone it stands below.
fn figure(text: &str) -> Markup {
    let parts =
        text.split_once(" [").and_then(|(value, rest)| Some((value, rest.split_once(']')?)));
    html! {
        @match parts {
            Some((value, (interval, rest))) => { (value) " " span.ci { "[" (interval) "]" } (rest) }
            None => { (text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_cell_stays_text() {
        let line = ["  <b>".to_owned(), "1<s [0, 2], 3 failed".to_owned()];
        let html = scrolled(
            &Grid { head: vec!["\"<i>".to_owned()], body: vec![line.into()] },
            "\"",
            false,
        )
        .0;
        for expected in [
            "aria-label=\"&quot;\"",
            "<th scope=\"col\">&quot;&lt;i&gt;</th>",
            "<tr class=\"derived\"><th scope=\"row\">&lt;b&gt;</th>",
            "1&lt;s <span class=\"ci\">[0, 2]</span>, 3 failed",
        ] {
            assert!(html.contains(expected), "{expected}\n{html}");
        }
    }
}
