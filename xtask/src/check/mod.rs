//! Whether documents are shown as they are meant: rendered as GitHub renders them, with links that lead somewhere.

mod commands;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeWithOffset};
use regex_lite::Regex;

use crate::page::{Fault, Page};

pub(crate) use commands::{commands, plans};

/// What a page shows as text, a link or code.
enum Part {
    Text(String),
    Html,
    Link(String),
    Heading(String),
    Code(String),
    /// Lines of code and their language.
    Block(String, String),
}

/// Parts of a page with their places in its text.
fn parts(page: &Page) -> Vec<(Range<usize>, Part)> {
    let mut parts: Vec<(Range<usize>, Part)> = Vec::new();
    // Place of the heading or the block of code that the parser is in.
    let (mut open, mut is_code) = (None, false);
    let github = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let parser = Parser::new_ext(&page.text, github).into_offset_iter();
    for (event, range) in TextMergeWithOffset::new(parser) {
        if let Some((_, Part::Heading(text) | Part::Block(_, text))) = open.map(|at| &mut parts[at])
            && let Event::Text(words) | Event::Code(words) = &event
        {
            *text += words;
        }
        let part = match event {
            Event::Text(text) if !is_code => Part::Text(text.into_string()),
            Event::Code(code) => Part::Code(code.into_string()),
            Event::InlineHtml(_) | Event::Start(Tag::HtmlBlock) => Part::Html,
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Part::Link(dest_url.into_string())
            }
            Event::Start(Tag::Heading { .. }) => {
                open = Some(parts.len());
                Part::Heading(String::new())
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                (open, is_code) = (Some(parts.len()), true);
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                Part::Block(language, String::new())
            }
            Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock) => {
                (open, is_code) = (None, false);
                continue;
            }
            _ => continue,
        };
        parts.push((range, part));
    }
    parts
}

/// The name by which a link leads to a heading, as GitHub makes it.
fn anchor(heading: &str, earlier: &BTreeSet<String>) -> String {
    let is_kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    let name: String = heading.to_lowercase().chars().filter(is_kept).collect();
    let name = name.replace(' ', "-");
    let numbered = (1..).map(|number| format!("{name}-{number}"));
    let mut names = [name.clone()].into_iter().chain(numbered);
    names.find(|name| !earlier.contains(name)).unwrap_or_default()
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

/// Places of the comments of a page.
pub(crate) fn comments(page: &Page) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    for (range, part) in parts(page) {
        if matches!(part, Part::Html) {
            let found = COMMENT.find_iter(&page.text[range.clone()]);
            let place = |at: usize| range.start + at;
            comments.extend(found.map(|comment| place(comment.start())..place(comment.end())));
        }
    }
    comments
}

/// Markup that a page shows.
pub(crate) fn rendered(page: &Page) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (range, part) in parts(page) {
        let line = page.line(range.start);
        let shown = match part {
            Part::Text(text) => text,
            Part::Html => TAG.replace_all(&page.text[range], "").into_owned(),
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
        let own = anchors.entry(&page.path).or_default();
        for (range, part) in parts(page) {
            match part {
                Part::Heading(text) => {
                    own.insert(anchor(&text, own));
                }
                Part::Link(url) if !url.contains("://") && !url.starts_with("mailto:") => {
                    links.push((page, page.line(range.start), url));
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
