//! Valid inputs with parts deleted, doubled, swapped and replaced: most of what is wrong is nearly right.

use std::ops::Range;

use proptest::prelude::*;
use proptest::sample::Index;

use super::number;

/// Size of the parts that a mutation moves.
#[derive(Clone, Copy, Debug)]
enum Part {
    Byte,
    /// A word or a number, between separators.
    Field,
    Line,
}

/// What becomes of a part.
#[derive(Clone, Debug)]
enum Change {
    Delete,
    /// It stands there so many times.
    Repeat(usize),
    /// It changes places with another.
    Swap(Index),
    /// This stands in its place.
    Replace(Vec<u8>),
    /// It lies so deep in brackets.
    Nest(usize),
    /// The input ends before it.
    Cut,
}

/// Parts of a text, in their order.
fn parts(text: &[u8], part: Part) -> Vec<Range<usize>> {
    let separators: &[u8] = match part {
        Part::Byte => return (0..text.len()).map(|at| at..at + 1).collect(),
        Part::Field => b" \t\n,:;=-./\"'[]{}()",
        Part::Line => b"\n",
    };
    let mut begin = 0;
    let mut parts = Vec::new();
    for piece in text.split(|byte| separators.contains(byte)) {
        if !piece.is_empty() {
            parts.push(begin..begin + piece.len());
        }
        begin += piece.len() + 1;
    }
    parts
}

/// A text with one mutation.
fn changed(text: Vec<u8>, (part, at, change): &(Part, Index, Change)) -> Vec<u8> {
    let parts = parts(&text, *part);
    if parts.is_empty() {
        return text;
    }
    let here = parts[at.index(parts.len())].clone();
    let old = &text[here.clone()];
    let new = match change {
        Change::Cut => return text[..here.start].to_vec(),
        Change::Delete => Vec::new(),
        Change::Repeat(times) => {
            let end = if matches!(part, Part::Line) { &b"\n"[..] } else { b"" };
            [old, end].concat().repeat(*times)
        }
        Change::Replace(new) => new.clone(),
        Change::Nest(depth) => [&b"[".repeat(*depth)[..], old, &b"]".repeat(*depth)].concat(),
        Change::Swap(other) => {
            let there = parts[other.index(parts.len())].clone();
            let [first, second] =
                if here.start <= there.start { [here, there] } else { [there, here] };
            if first == second {
                return text;
            }
            let between = &text[first.end..second.start];
            let moved = [&text[second.clone()], between, &text[first.clone()]].concat();
            return [&text[..first.start], &moved, &text[second.end..]].concat();
        }
    };
    [&text[..here.start], &new, &text[here.end..]].concat()
}

/// Words at which readers go wrong.
fn word() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "",
        "0",
        "-0",
        "-1",
        "NaN",
        "inf",
        "1e999",
        "1e19",
        "0.1",
        "0x10",
        "null",
        "true",
        "max",
        "unlimited",
        "\"",
        "\\",
        "'",
        "=",
        "\"\\ud800\"",
        "\u{202e}",
        "\u{1b}[2J",
        "\0",
        "\n\n",
        "..",
        "../../etc/passwd",
        "4294967296",
        "18446744073709551616",
        "144115188075855872",
    ]);
    prop_oneof![
        4 => known.prop_map(|word| word.as_bytes().to_vec()),
        3 => number().prop_map(|number| number.to_string().into_bytes()),
        1 => "\\PC{0,8}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 1..8),
    ]
}

/// One of the texts with a few mutations.
pub(super) fn mutated<T: AsRef<[u8]>>(
    texts: impl IntoIterator<Item = T>,
) -> impl Strategy<Value = Vec<u8>> {
    let texts: Vec<Vec<u8>> = texts.into_iter().map(|text| text.as_ref().to_vec()).collect();
    let part =
        prop::sample::select(vec![Part::Byte, Part::Field, Part::Field, Part::Field, Part::Line]);
    let change = prop_oneof![
        2 => Just(Change::Delete),
        2 => Just(Change::Repeat(2)),
        1 => (3..1000_usize).prop_map(Change::Repeat),
        3 => any::<Index>().prop_map(Change::Swap),
        6 => word().prop_map(Change::Replace),
        1 => prop_oneof![Just(1), Just(127), Just(20_000)].prop_map(Change::Nest),
        1 => Just(Change::Cut),
    ];
    let mutations = prop::collection::vec((part, any::<Index>(), change), 0..6);
    (prop::sample::select(texts), mutations)
        .prop_map(|(text, mutations)| mutations.iter().fold(text, changed))
}
