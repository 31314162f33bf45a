# Results of duels with one first side: a figure of a row is a series over the second sides.

# The version that a duel's second side names.
def version: .sides[1] | split(" ")[0] | split("@")[1];

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

# "less", "more", "within" or "inconclusive".
def word: .verdict | if type == "object" then keys[0] else . end;
