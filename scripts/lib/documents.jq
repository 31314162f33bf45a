# Figures for documents: see scripts/figures.sh. The input holds the exports of all files of records, by
# MACHINE/FILE.
include "figures";

# Machine of the documents, if a file names none.
def machine: "epyc-2vcpu-6.18";

def ensure(condition; $message): if condition then . else error($message) end;

# The figure of a file's section (by the beginning of its title), row and column. One that the machine
# disturbed backs nothing.
def at($file; $section; $row; $column):
    (if $file | contains("/") then $file else "\(machine)/\($file)" end) as $file
    | "\($file): \($section), \($row), \($column)" as $name
    | ensure(has($file); "there are no records \($file)")
    | [.[$file].figures[]
       | select((.section | startswith($section)) and .row == $row and .column == $column)]
    | ensure(length == 1; "\($name): \(length) figures")
    | .[0]
    | ensure(.outcome == "measured" or .outcome == "slope"; "\($name): \(.outcome)")
    | ensure(all(.doubts[]; type == "string" or (has("all-slices") or has("host-took") or has("contradicted") | not));
        "\($name): disturbed: \(.doubts | tojson)");
def at($file; $section; $row): at($file; $section; $row; "");

# What a quantity is divided by, and its unit.
def unit($quantity):
    def scaled($step; $units): . as $x | reduce $units[1:][] as $unit ([1, $units[0]];
        if $x / .[0] >= $step * 0.995 then [.[0] * $step, $unit] else . end);
    if $quantity == "time" then scaled(1000; [" ns", " µs", " ms", " s"])
    elif $quantity == "bytes" then scaled(1024; [" B", " KiB", " MiB", " GiB"])
    elif $quantity == "throughput" then scaled(1024; [" B/s", " KiB/s", " MiB/s", " GiB/s"])
    else [1, ""] end;

def plain($quantity): unit($quantity) as [$by, $unit] | "\(. / $by | digits(2))\($unit)";

# An estimate with its interval, in the unit of the estimate.
def shown($quantity):
    (.estimate | unit($quantity)) as [$by, $unit]
    | "\(.estimate / $by | digits(2))\($unit) [\(.low / $by | digits(2)), \(.high / $by | digits(2))]";

# Of a figure: its mean, or the slope of its user memory, without and with the interval.
def interval: if .outcome == "slope" then .user.line.slope else .mean.interval // {estimate: .mean.value, low: .mean.value, high: .mean.value} end;
def mean: .quantity as $quantity | interval.estimate | plain($quantity);
def mean_interval: .quantity as $quantity
    | interval | if .low == .high then .estimate | plain($quantity) else shown($quantity) end;
# User and kernel memory together.
def whole: (.user.line.slope.estimate + (.kernel.line.slope.estimate // 0)) | plain("bytes");

# Kernel memory of a slope; nothing if it cannot be told from 0.
def kernel: .kernel.line.slope as $slope
    | if $slope == null or $slope.low <= 0 then "not distinguishable from 0" else $slope.estimate | plain("bytes") end;

# What the kernel counted per hop.
def switches: .evidence | "\(.switches | digits(3)) + \(.preemptions // 0 | digits(2)) preempted";
def wakeups: .evidence.wakeups // 0 | digits(2);

# The machine of the answer.
def machine_line: .["\(machine)/answer"].answer.machine;

# How many times a figure is the one that its row is compared with.
def ratio: .ratio.interval;
def times: ratio | shown("ratio");

# How many times one figure is another one, by the ends of both intervals: no tighter than it is.
def over($this; $that): ($this | interval) as $this | ($that | interval) as $that
    | {estimate: ($this.estimate / $that.estimate), low: ($this.low / $that.high), high: ($this.high / $that.low)};
def times($this; $that): over($this; $that) | .estimate | digits(2);

# Verdicts of an interval about what somebody else found: errors if it does not bear them.
def bears(condition; $verdict; $theirs):
    ensure(condition; "does not bear '\($verdict)' of \($theirs): \(tojson)") | $verdict;
def holds($theirs): bears(.low <= $theirs and $theirs <= .high; "holds"; $theirs);
# Within a factor of two, for figures that depend on the machine as well.
def about($theirs): bears(.high >= $theirs / 2 and .low <= $theirs * 2; "holds"; $theirs);
def no_longer($theirs): bears($theirs < .low or .high < $theirs; "no longer"; $theirs);
def never_did($theirs): bears($theirs < .low or .high < $theirs; "never did"; $theirs);
def undecided($this; $that): bears(.low <= $this and $this <= .high and .low <= $that and $that <= .high;
    "undecided here"; "\($this) or \($that)");

# A table: the first column on the left, the others on the right.
def table($heads; rows):
    ["| \($heads | join(" | ")) |", "| --- |\($heads[1:] | map(" ---: |") | join(""))"]
    + [rows | "| \(join(" | ")) |"] | join("\n");
