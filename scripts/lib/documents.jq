# Figures for documents: see scripts/figures.sh. The input holds the exports of all files of records, by
# MACHINE/FILE.
include "figures";

# Machine of the documents, if a file names none.
def machine: "xeon-2vcpu-6.18";

def ensure(condition; $message): if condition then . else error($message) end;

# The figure of a file's section (by the beginning of its title), row and column. One that the machine
# disturbed backs nothing.
def at($file; $section; $row; $column):
    (if $file | contains("/") then $file else "\(machine)/\($file)" end) as $file
    | ensure(has($file); "there are no records \($file)")
    | [.[$file].figures[]
       | select((.section | startswith($section)) and .row == $row and .column == $column)]
    | ensure(length == 1; "\(length) figures in \($file): \($section), \($row), \($column)")
    | .[0]
    | ensure(all(.doubts[]; type == "string" or (has("all-slices") or has("host-took") or has("contradicted") | not));
        "\($file): \($section), \($row), \($column) was disturbed: \(.doubts | tojson)");

# What a quantity is divided by, and its unit.
def unit($quantity):
    def scaled($step; $units): . as $x | reduce $units[1:][] as $unit ([1, $units[0]];
        if $x / .[0] >= $step * 0.995 then [.[0] * $step, $unit] else . end);
    if $quantity == "time" then scaled(1000; [" ns", " µs", " ms", " s"])
    elif $quantity == "bytes" then scaled(1024; [" B", " KiB", " MiB", " GiB"])
    else [1, ""] end;

# An estimate with its interval, in the unit of the estimate.
def shown($quantity):
    (.estimate | unit($quantity)) as [$by, $unit]
    | "\(.estimate / $by | digits(2))\($unit) [\(.low / $by | digits(2)), \(.high / $by | digits(2))]";

def plain($quantity): unit($quantity) as [$by, $unit] | "\(. / $by | digits(2))\($unit)";

# Of a figure: its mean, with and without the interval, and how many times it is another one.
def mean: .quantity as $quantity | .mean.value | plain($quantity);
def mean_interval: .quantity as $quantity | .mean.interval | shown($quantity);
def ratio: .ratio.interval;
def ratio_interval: ratio | shown("ratio");

# Verdicts of an interval about what somebody else found: errors if it does not bear them.
def holds($theirs): ensure(.low <= $theirs and $theirs <= .high; "does not hold: \($theirs) is outside of \(tojson)")
    | "holds";
def no_longer($theirs): ensure($theirs < .low or .high < $theirs; "may hold: \($theirs) is in \(tojson)")
    | "no longer";
def never_did($theirs): no_longer($theirs) | "never did";
def undecided($this; $that): ensure(.low <= $this and $this <= .high and .low <= $that and $that <= .high;
    "is decided: \($this) and \($that) are not both in \(tojson)") | "undecided here";
