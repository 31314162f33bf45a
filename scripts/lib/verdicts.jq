# What somebody else found, what was found here, and the verdict: a function of both, by a rule. No verdict and no
# figure of a row is a text: `row` takes values of records, and its notes have no digits but in brackets and backticks.
include "documents";

# The number that a quotation begins with: a time in ns, a size in bytes, or a plain one.
def number: gsub(","; "")
    | capture("(?<number>[0-9]+[.]?[0-9]*) ?(?<unit>ns|µs|ms|s|KB|MB|GB|TB|B|KiB|MiB|GiB/s|GiB)?(?![A-Za-z])")
    | (.number | tonumber) * ({ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 1024,
        MiB: 1048576, GiB: 1073741824, "GiB/s": 1073741824}[.unit // ""] // 1);

# A rule sees {theirs, quote, values} and says a verdict.
def ruled(condition; $otherwise): if condition then "holds" else $otherwise end;
def first_value: .values[0];
def open: "undecided here: the interval is too wide";
# If the figure lies between two ends: barely, if only its interval reaches them.
def between($from; $to; $yes): first_value
    | if .high < $from or .low > $to then "not here" elif .low < $from and .high > $to then open
      elif .estimate >= $from and .estimate <= $to then $yes else $yes + ", barely" end;
def within($factor): .theirs as $theirs | between($theirs / $factor; $theirs * $factor; "holds");

# Sizes, ratios: a factor of two, since machines differ; a ratio on the same side of 1, if theirs is more than a tenth off.
def as_size: within(2);
def as_ratio: (.theirs | if . > 1.1 then 1 elif . < 1 / 1.1 then -1 else 0 end) as $side
    | if $side * (first_value.estimate - 1) < 0 then "not here" else within(2) end;
# Times and rates of another machine: the order of magnitude, a factor of the root of ten.
def as_order: .theirs as $theirs | (10 | sqrt) as $root | between($theirs / $root; $theirs * $root; "same order");
# What somebody found to be equal: a tenth.
def as_equal: within(1.1);
# A share of time, or busy CPUs: a tenth of a CPU.
def as_share: .theirs as $theirs | between($theirs - 0.1; $theirs + 0.1; "holds");
# All numbers of the quotation, in their order.
def as_counts: . as {$quote, $values}
    | ruled([$quote | scan("[0-9]+") | tonumber] == [$values[].estimate | round]; "not here");
# Bounds: the whole interval lies on one side.
def as_over: . as {$theirs, $values} | $values[0]
    | if .low > $theirs then "holds" elif .high < $theirs then "not here" else open end;
def as_under: . as {$theirs, $values} | $values[0]
    | if .high < $theirs then "holds" elif .low > $theirs then "not here" else open end;
# As many, or more.
def as_reached: ruled(.values[0].low >= .theirs; "not here");
# The same side of 1 as theirs.
def as_side: . as {$theirs, $values} | $values[0]
    | if .low > 1 then ruled($theirs > 1; "not here") elif .high < 1 then ruled($theirs < 1; "not here")
      elif .low > 1 / 1.1 and .high < 1.1 then "not here: no difference" else open end;
# The first value is larger than the second one.
def as_larger: .values | if .[0].low > .[1].high then "holds" elif .[0].high < .[1].low then "not here" else open end;
# None of the values lies below 1, by more than a tenth.
def as_least: if any(.values[]; .high < 1) then "not here" elif all(.values[]; .low > 1 / 1.1) then "holds" else open end;
# Each of the values reaches theirs.
def as_all_over: .theirs as $theirs | if all(.values[]; .low >= $theirs) then "holds" elif any(.values[]; .high < $theirs) then "not here" else open end;
# True of the second value, which is of the software of then, and not of the first.
def as_no_longer: within(2) as $now
    | if $now != "not here" then $now elif (.values[0] = .values[1] | within(2)) != "not here" then "no longer" else $now end;
# A question, and what answers it: a ratio.
def as_asked: first_value
    | if .low > 1 then "answered: more" elif .high < 1 then "answered: less"
      elif .low > 1 / 1.1 and .high < 1.1 then "answered: no difference" else open end;

# A value as a reader sees it.
def seen: . as $value | value
    | if .modes then mark + ([.quantity as $quantity | .modes[].centre | plain($quantity)] | join(" or "))
      elif .low == .high and .quantity == "count" and (.estimate >= 100 or .estimate == (.estimate | round)) then mark + (.estimate | round | commas)
      elif .low == .high then .quantity as $quantity | mark + (.estimate | plain($quantity))
      else shown(.quantity) end;

def has_digits: gsub("`[^`]*`|\\([^)]*\\)"; "") | test("[0-9]");

# Values, and if they were disturbed or have no interval two thirds and one and a half times them.
def shaken: if length == 0 then . else
    (.[0] | if .disturbed or .few then scaled(2 / 3), ., scaled(1.5) else . end) as $first | [$first] + (.[1:] | shaken) end;
# What a rule says, if it says so of all of them: corrected times are within 6 % (rms) of quiet ones.
def judged(rule): any(.values[]; .disturbed) as $disturbed | [(.values | shaken) as $values | .values = $values | rule] | unique
    | if length == 1 then .[0] elif length == 2 and .[1] == .[0] + ", barely" then .[1]
      else "undecided here: \(if $disturbed then "a quieter machine decides" else "more rounds decide" end)" end;

# True of a rule that says something else of other figures: a text in the place of one does not.
def depends(rule): def put($x): .estimate = $x | .low = $x | .high = $x;
    def quoted: [.quote | scan("[0-9]+") | tonumber] as $numbers
        | reduce range(0; [$numbers, .values] | map(length) | min) as $i (.; .values[$i] |= put($numbers[$i]));
    [((0, 1e18, .theirs // 1) as $x | (.values[] |= put($x)), (.values[0] |= put($x))), quoted | rule] | unique | length > 1;

# A row. `found` gives values and figures, each after a label if there are several: "label", value, "label", value.
def row($claim; $theirs; found; rule; $note):
    [found] as $found
    | [$found[] | objects | value] as $values | [$found[] | strings] as $labels
    | ensure($values | length > 0; "\($claim): a row without a figure")
    | ensure(all($values[]; .estimate | type == "number"); "\($claim): what is no number: \($values | tojson)")
    | ensure(all($labels[], $note; has_digits | not); "\($claim): a figure in a text")
    | (reduce $found[] as $part ([]; if $part | type == "string" then . + ["\($part) "]
        elif (last // "") | endswith(" ") then last += ($part | seen) else . + [$part | seen] end) | join("; ")) as $here
    | {theirs: [$theirs | number][0], quote: $theirs, $values} as $case
    | ensure($case | depends(rule); "\($claim): a verdict that does not depend on its figures")
    | {$claim, $theirs, $here, $note,
       verdict: (if any($values[]; .contradicted) then "undecided here: contradicted by its counters"
                 else $case | judged(rule) end)};
def row($claim; $theirs; found; rule): row($claim; $theirs; found; rule; "");
# A row that this machine cannot judge, and what would.
def cannot($claim; $theirs; $takes): {$claim, $theirs, here: "", note: "", verdict: "cannot be judged here: \($takes)"};

# A quotient of two of their figures, as a quotation.
def per($this; $that): "\(($this | number) / ($that | number) | digits(3)) (\($this) ÷ \($that))";

def claims(rows): ["| claim | theirs | here | verdict |", "| --- | --- | --- | --- |"]
    + [rows | ensure(type == "object"; "a row that no rule has judged: \(tojson)")
       | "| \(.claim) | \(.theirs) | \(.here) | \(.verdict)\(if .note == "" then "" else "; " + .note end) |"]
    | join("\n");
