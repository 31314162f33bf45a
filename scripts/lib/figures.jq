# Figures of `report --export-json`, and how they are shown.

def digits($n): if . == 0 then "0" else
    pow(10; (fabs | log10 | floor) - $n + 1) as $unit
    | (. / $unit | round * $unit) as $x
    | ([$n - 1 - ($x | fabs * 1.000001 | log10 | floor), 0] | max) as $decimals
    | if $decimals == 0 then $x | round | tostring
      else ($x * pow(10; $decimals) | round | tostring) as $all
        | (if $x < 0 then "-" else "" end) as $sign
        | ($all | ltrimstr("-")) as $all
        | ("0" * ([$decimals + 1 - ($all | length), 0] | max) // "") + $all
        | $sign + .[:-$decimals] + "." + .[-$decimals:] end end;

def scaled($step; $units): reduce $units[1:][] as $unit
    ([., $units[0]]; if .[0] >= $step * 0.995 then [.[0] / $step, $unit] else . end)
    | "\(.[0] | digits(2)) \(.[1])";

def time: scaled(1000; ["ns", "µs", "ms", "s"]);
def bytes: scaled(1024; ["B", "KiB", "MiB", "GiB"]);

# Figure of a row of a table, by the beginning of the table's title and the place of its column; null if there
# is none.
def cell($title; $row; $column):
    [.figures[] | select((.section | startswith($title)) and .row == $row)][$column];

# Names of the first table's rows.
def rows: .figures[0].section as $first | [.figures[] | select(.section == $first) | .row] | unique;

def value: .mean.value;
def slope: .user.line.slope.estimate;
