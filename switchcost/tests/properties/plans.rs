//! Plans.

use proptest::prelude::*;
use proptest::sample::Index;
use switchcost::plan::Plan;

use super::inputs;

const PLAN: &str = include_str!("../../plans/default.toml");

/// What may stand anywhere in a plan, and is wrong there or makes it mean something else.
const PIECES: [&str; 15] = [
    "",
    "\"",
    "[[section]]",
    "[[section.row]]",
    "[[section.column]]\nname = \"\"\n",
    "iters = 18446744073709551615\n",
    "iters = -1\n",
    "rounds = 4294967295\n",
    "tasks = [0, 4294967295]\n",
    "tasks = [1,2,3,4,5,6,7,8]\n",
    "metric = \"memory\"\n",
    "baseline = \"thread\"\n",
    "name = \"\\u001b[2J\"\n",
    "flags = [\"--tasks\", \"\"]\n",
    "cpus = \"same-cache\"\n",
];

/// What is done with a plan that parses.
fn use_it(text: &str) {
    let Ok(plan) = Plan::parse(text) else { return };
    for quick in [false, true] {
        let plan = match quick {
            true => plan.clone().quickened(),
            false => plan.clone(),
        };
        for case in plan.cases(quick) {
            assert!(!case.cell.name().contains(char::is_control));
            assert!(case.rounds > 0);
            let _ = (case.matches("free"), case.twin());
        }
    }
}

proptest! {
    #![proptest_config(inputs(256))]

    #[test]
    fn any_text_is_a_plan_or_is_refused(text in "\\PC*") {
        use_it(&text);
    }

    #[test]
    fn a_plan_that_is_tampered_with_is_a_plan_or_is_refused(
        edits in prop::collection::vec((any::<Index>(), any::<Index>(), 0..3_usize), 1..6),
    ) {
        let mut lines: Vec<&str> = PLAN.lines().collect();
        for (line, piece, way) in &edits {
            let at = line.index(lines.len());
            match way {
                0 => lines.insert(at, PIECES[piece.index(PIECES.len())]),
                1 => lines[at] = PIECES[piece.index(PIECES.len())],
                _ => lines.swap(at, piece.index(PLAN.lines().count()).min(at)),
            }
        }
        use_it(&lines.join("\n"));
    }
}
