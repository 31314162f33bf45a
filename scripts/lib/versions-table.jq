include "versions";

def cell:
    if . == null then "left out"
    elif word == "inconclusive" or word == "open" then "?"
    elif word == "within" then "± " + (.verdict.within | percent | ltrimstr("+"))
    else "**" + (.change.estimate | percent) + "** [" + ([.change.low, .change.high | percent | rtrimstr(" %")] | join(", ")) + "]"
    end;

def row: "| " + join(" | ") + " |";

. as $duels | series as $series
| (["Tokio"] + [$series[].title] | row),
  ([$series[] | "---"] + ["---"] | row),
  ($duels | to_entries[] | .key as $k | [.value | version] + [$series[].findings[$k] | cell] | row)
