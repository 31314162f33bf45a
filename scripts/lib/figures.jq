# Figures of `report --export-json`, and how they are shown.

def digits($n): if . == 0 then "0" else
    (fabs | log10 | floor) as $e | pow(10; $e - $n + 1) as $unit
    | (. / $unit | round * $unit) as $x
    | if $e >= $n - 1 then $x | round | tostring
      else $x * pow(10; $n - 1 - $e) | round | . / pow(10; $n - 1 - $e) | tostring end end;

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

def mean: .mean.value;
def slope: .user.line.slope.estimate;
