//! Whether documents are shown as they are meant: rendered as GitHub renders them, with links that lead somewhere.

mod commands;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use comrak::nodes::NodeValue;
use comrak::{Anchorizer, Arena, Options, parse_document};
use regex::Regex;

use crate::{Fault, Page};

pub(crate) use commands::{commands, plans};

/// GitHub's Markdown.
fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options
}

/// A node that is shown as text, a link or code, and its line.
enum Part {
    Text(String),
    Html(String),
    Link(String),
    Heading(String),
    /// A code span.
    Code(String),
    /// Lines of code and their language; the line is the first one's.
    Block(String, String),
}

/// Parts of a page with their lines.
fn parts(page: &Page) -> Vec<(usize, Part)> {
    let arena = Arena::new();
    let root = parse_document(&arena, &page.text, &options());
    let mut parts = Vec::new();
    for node in root.descendants() {
        let data = node.data();
        let line = data.sourcepos.start.line;
        let part = match &data.value {
            NodeValue::Text(text) => Part::Text(text.to_string()),
            NodeValue::HtmlBlock(block) => Part::Html(block.literal.clone()),
            NodeValue::HtmlInline(html) => Part::Html(html.clone()),
            NodeValue::Link(link) | NodeValue::Image(link) => Part::Link(link.url.clone()),
            NodeValue::Heading(_) => Part::Heading(node.collect_text()),
            NodeValue::Code(code) => Part::Code(code.literal.clone()),
            NodeValue::CodeBlock(block) => Part::Block(block.info.clone(), block.literal.clone()),
            _ => continue,
        };
        parts.push((line, part));
    }
    parts
}

/// Markup that a reader would see.
const MARKUP: [&str; 3] = ["**", "`", "<!--"];

static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new("(?s)<!--.*?-->").unwrap()
});

static TAG: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new("(?s)<!--.*?-->|<[^>]*>").unwrap()
});

/// Comments of a page, each with the line on which its HTML begins.
pub(crate) fn comments(page: &Page) -> Vec<(usize, String)> {
    let mut comments = Vec::new();
    for (line, part) in parts(page) {
        if let Part::Html(html) = part {
            let found = COMMENT.find_iter(&html);
            comments.extend(found.map(|comment| (line, comment.as_str().to_owned())));
        }
    }
    comments
}

/// Markup that a page shows.
pub(crate) fn rendered(page: &Page) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, part) in parts(page) {
        let shown = match part {
            Part::Text(text) => text,
            Part::Html(html) => TAG.replace_all(&html, "").into_owned(),
            _ => continue,
        };
        let markup = MARKUP.iter().filter(|markup| shown.contains(**markup));
        faults.extend(markup.map(|markup| {
            let place = shown.find(markup).unwrap_or(0);
            let words: String = shown[place..].chars().take(40).collect();
            page.fault(line, format!("GitHub shows {markup} as it is: {}", words.trim_end()))
        }));
    }
    for (number, line) in page.text.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        if COMMENT.find_iter(line).any(|comment| comment.as_str().contains('|')) {
            faults.push(page.fault(number + 1, "a | in a comment ends the table's cell"));
        }
    }
    faults
}

/// Links that lead nowhere, and pages that no link leads to.
pub(crate) fn links(root: &Path, pages: &[Page]) -> Vec<Fault> {
    let mut anchors: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut links = Vec::new();
    for page in pages {
        let mut anchorizer = Anchorizer::new();
        let own = anchors.entry(&page.path).or_default();
        for (line, part) in parts(page) {
            match part {
                Part::Heading(text) => {
                    own.insert(anchorizer.anchorize(&text));
                }
                Part::Link(url) if !url.contains("://") && !url.starts_with("mailto:") => {
                    links.push((page, line, url));
                }
                _ => {}
            }
        }
    }
    let mut faults = Vec::new();
    let mut leads: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (page, line, url) in &links {
        let (path, anchor) = url.split_once('#').unwrap_or((url, ""));
        let own = root.join(&page.path);
        let target = if path.is_empty() { own } else { own.with_file_name(path) };
        let target = target.canonicalize().unwrap_or_default();
        let Ok(target) = target.strip_prefix(root) else {
            faults.push(page.fault(*line, format!("the link {url} leads to no file")));
            continue;
        };
        let target = target.display().to_string();
        if !anchor.is_empty() && anchors.get(&*target).is_some_and(|all| !all.contains(anchor)) {
            faults.push(page.fault(*line, format!("{target} has no heading #{anchor}")));
        }
        leads.entry(&page.path).or_default().insert(target);
    }
    let mut reached = BTreeSet::new();
    let mut left = vec!["README.md".to_owned()];
    while let Some(path) = left.pop() {
        let next = leads.get(&*path).into_iter().flatten().cloned();
        if reached.insert(path) {
            left.extend(next);
        }
    }
    let unreached = pages.iter().filter(|page| !reached.contains(&page.path));
    faults.extend(unreached.map(|page| page.fault(1, "no link leads here from README.md")));
    faults
}
