# Duels with one first side as a table: a line for each second side, a column for each figure of a row.

# Each figure: what it is called, and its finding in each duel (null where it has none).
def series:
    . as $duels
    | reduce ($duels[].rows[] | . as $row | .findings[] | {row: $row.name, kind}) as $key
        ([]; if any(.[]; . == $key) then . else . + [$key] end)
    # Faults say little here, and switches of a chain are its hops.
    | map(select(.kind == "time" or .kind == "memory" or (.kind == "switches" and (.row | startswith("sparse")))))
    | map(. as $key | $key + {
        title: ((.row | sub(", (un)?pinned$"; "")) + (if .kind == "switches" then ": switches" else "" end)),
        findings: [$duels[] | [.rows[] | select(.name == $key.row) | .findings[] | select(.kind == $key.kind)][0]]
    });

# A share as per cent, with its sign.
def percent: (. * 1000 | round / 10) as $p | (if $p > 0 then "+" else "" end) + ($p | tostring) + " %";

def cell:
    if . == null then "left out"
    elif .verdict == "more" or .verdict == "less" then
        "**" + (.change.estimate | percent) + "** [" + ([.change.low, .change.high | percent | rtrimstr(" %")] | join(", ")) + "]"
    elif .verdict | type == "object" and has("within") then "± " + (.verdict.within | percent | ltrimstr("+"))
    else "?" end;

def row: "| " + join(" | ") + " |";

. as $duels | series as $series
| (["Tokio"] + [$series[].title] | row),
  ([$series[] | "---"] + ["---"] | row),
  # The version that a duel's second side names.
  ($duels | to_entries[] | .key as $k
   | [.value.sides[1] | split(" ")[0] | split("@")[1]] + [$series[].findings[$k] | cell] | row)
