# Figures for documents: see scripts/figures.sh. The input holds the exports of all files of records, by
# MACHINE/FILE.
# A number of so many digits.
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

# Machine of the documents, if a file names none.
def machine: "epyc5-2vcpu-6.18";

def ensure(condition; $message): if condition then . else error($message) end;

# What a grade says: whether it backs no verdict, and its mark.
def graded: .contradicted = (.grade == "contradicted") | .disturbed = (.grade != "sure");

# An interval with its grade.
def bounds: (graded | {disturbed, contradicted}) + .interval;

# A figure that was measured. Its grade is the runner's: ~ marks one that the machine disturbed, ! one that its
# counters contradict, and neither backs a verdict.
def sound($name): ensure(.outcome == "measured" or .outcome == "slope"; "\($name): \(.outcome)")
    | graded;

def mark: if .contradicted then "!" elif .disturbed then "~" else "" end;

# The figure of a file's section (by the beginning of its title), row and column.
def at($file; $section; $row; $column):
    (if $file | contains("/") then $file else "\(machine)/\($file)" end) as $file
    | "\($file): \($section), \($row), \($column)" as $name
    | ensure(has($file); "there are no records \($file)")
    | [.[$file].figures[]
       | select((.section | startswith($section)) and .row == $row and .column == $column)]
    | ensure(length == 1; "\($name): \(length) figures")
    | .[0] | sound($name);
def at($file; $section; $row): at($file; $section; $row; "");

# A point of a sweep, in the section of a title that begins so.
def point($file; $section; $row; $x):
    (if $file | contains("/") then $file else "\(machine)/\($file)" end) as $file
    | "\($file): \($section), \($row) at \($x)" as $name
    | ensure(has($file); "there are no records \($file)")
    | [.[$file].figures[] | select((.section | startswith($section)) and .row == $row and .x == $x)]
    | ensure(length == 1; "\($name): \(length) figures")
    | .[0] | sound($name);
def point($file; $row; $x): point($file; ""; $row; $x);

# A curve of a file by its title, and one of its series.
def curve($file; $title): [.["\(machine)/\($file)"].curves[] | select(.title == $title)]
    | ensure(length == 1; "\($file): \($title): \(length) curves") | .[0];
def series($file; $title; $name): [curve($file; $title).series[] | select(.name == $name)]
    | ensure(length == 1; "\($file): \($title): \($name): \(length) series") | .[0];

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
    | "\(mark)\(.estimate / $by | digits(2))\($unit) [\(.low / $by | digits(2)), \(.high / $by | digits(2))]";

# Of a figure: its mean, or the slope of its user memory, without and with the interval.
def interval: {disturbed, contradicted} + if .outcome == "slope" then .user.line.slope
    else .mean.interval // {estimate: .mean.value, low: .mean.value, high: .mean.value} end;
def mean: .quantity as $quantity
    | mark + if .modes then [.modes[].centre | plain($quantity)] | join(" or ") else interval.estimate | plain($quantity) end;
def mean_interval: if .modes or (interval | .low == .high) then mean else .quantity as $quantity | interval | shown($quantity) end;
# One figure less another.
def minus($this; $that): ($this | interval.estimate) - ($that | interval.estimate) | plain($this.quantity);

# User and kernel memory together.
def whole: (.user.line.slope.estimate + (.kernel.line.slope.estimate // 0)) | plain("bytes");

# Kernel memory of a slope; nothing if it cannot be told from 0.
def kernel: .kernel.line.slope as $slope
    | if $slope == null or $slope.low <= 0 then "not distinguishable from 0" else $slope.estimate | plain("bytes") end;

# What the kernel counted per hop.
def switches: .evidence | "\(.switches | digits(3)) + \(.preemptions // 0 | digits(2)) preempted";
def wakeups: .evidence.wakeups // 0 | digits(2);

# A ratio of the answer, by the name of its row.
def answered($name): .["\(machine)/answer"].answer.rows[] | select(.name == $name) | .ratio | bounds | shown("ratio");

# The machine of the answer.
def machine_line: .["\(machine)/answer"].answer.machine;

# How many times a figure is the one that its row is compared with.
def ratio: .ratio | bounds;
def times: ratio | shown("ratio");

# How many times one figure is another one, by the ends of both intervals: no tighter than it is.
def over($this; $that): ($this | interval) as $this | ($that | interval) as $that
    | {estimate: ($this.estimate / $that.estimate), low: ($this.low / $that.high), high: ($this.high / $that.low),
       disturbed: ($this.disturbed or $that.disturbed), contradicted: ($this.contradicted or $that.contradicted)};
def times($this; $that): over($this; $that) | mark + (.estimate | digits(2));

# Verdicts of an interval about what somebody else found: errors if it does not bear them. None of a disturbed one.
def bears(condition; $verdict; $theirs): if .disturbed then "undecided here"
    else ensure(condition; "does not bear '\($verdict)' of \($theirs): \(tojson)") | $verdict end;
def holds($theirs): bears(.low <= $theirs and $theirs <= .high; "holds"; $theirs);
# Within a factor of two, for figures that depend on the machine as well.
def about($theirs): bears(.high >= $theirs / 2 and .low <= $theirs * 2; "holds"; $theirs);
def no_longer($theirs): bears($theirs < .low or .high < $theirs; "no longer"; $theirs);
def not_here($theirs): bears($theirs < .low or .high < $theirs; "not here"; $theirs);
def never_did($theirs): bears($theirs < .low or .high < $theirs; "never did"; $theirs);
def undecided($this; $that): bears(.low <= $this and $this <= .high and .low <= $that and $that <= .high;
    "undecided here"; "\($this) or \($that)");

# A table: the first column on the left, the others on the right.
def table($heads; rows):
    ["| \($heads | join(" | ")) |", "| --- |\($heads[1:] | map(" ---: |") | join(""))"]
    + [rows | "| \(join(" | ")) |"] | join("\n");

# Efficiency of a rate per CPU at a point, in per cent.
def efficiency($file; $title; $name; $x): [series($file; $title; $name).efficiency[] | select(.[0] == $x) | .[1] | select(.interval) | bounds]
    | ensure(length == 1 and .[0]; "\($title): \($name): no efficiency at \($x)") | .[0];
def percent: def n: . * 100 | digits(2); "\(mark)\(.estimate | n) % [\(.low | n), \(.high | n)]";

# What a duel says of a row's time.
def change: if . == null then "–"
    elif .verdict == "more" or .verdict == "less" then
        (.change | [.estimate, .low, .high] | map(. * 100 | digits(2))) as [$estimate, $low, $high]
        | "\(graded | mark)**\(if .verdict == "more" then "+" else "" end)\($estimate) %** [\($low), \($high)]"
    elif .verdict | type == "object" and has("within") then "± \(.verdict.within * 100 | digits(2)) %"
    else "?" end;

def distinct: reduce .[] as $x ([]; if any(.[]; . == $x) then . else . + [$x] end);

# A duel against several settings: a line for each that changed something, a column for each program.
def duel_table($file): [.["\(machine)/\($file)"].rows[]
        | (.name | index(": ")) as $at
        | {program: .name[:$at], setting: .name[$at + 2:], change: ([.findings[] | select(.kind == "time")][0] | change)}]
    | . as $all | (map(.program) | distinct) as $programs
    | (map(select(.change | contains("**")).setting) | distinct) as $settings
    | table(["setting", $programs[]]; $settings[] as $setting
        | ["`\($setting)`", ($programs[] as $program
            | [$all[] | select(.program == $program and .setting == $setting) | .change][0] // "–")]);

# Duels of versions of Tokio, as `duel --format json` prints them: a line for each, a column for each figure of a row.
# Faults say little here, and switches of a chain are its hops.
def versions_table: .["xeon-2vcpu-6.18/tokio-versions"] as $duels
    | ([$duels[].rows[] | .name as $name | .findings[].kind
        | select(IN("time", "memory") or . == "switches" and ($name | startswith("sparse"))) | [$name, .]] | distinct) as $columns
    | table(["Tokio", ($columns[] | (.[0] | sub(", (un)?pinned$"; "")) + if .[1] == "switches" then ": switches" else "" end)];
        $duels[] | [(.sides[1] | ltrimstr("tokio@") | split(" ")[0]), ($columns[] as [$name, $kind]
            | [.rows[] | select(.name == $name) | .findings[] | select(.kind == $kind) | .grade //= "sure"][0] | change)]);

# The answers of all machines beside each other: thread ÷ task.
def machines_table: ["xeon6-2vcpu-6.18", "epyc5-2vcpu-6.18", "epyc-2vcpu-6.18", "xeon-2vcpu-6.18"] as $names
    | [.[$names[] + "/answer"].answer] as $answers
    | table(["thread ÷ task", $names[]];
        $answers[0].rows[].name as $name
        | [$name, ($answers[] | .rows[] | select(.name == $name) | .ratio | bounds | shown("ratio"))]);

# The figures of the plan `languages` as one table: a line for each kind of task, sorted by its hop.
def languages_table:
    # By the beginning of a table's title and the place of its column; null if there is no such figure.
    def cell($title; $row; $column):
        [.figures[] | select((.section | startswith($title)) and .row == $row)][$column];
    def marked: if .mean.value == null then "–" else (graded | mark) + (.mean.value | plain("time")) end;
    def size: if . == null then "–" else plain("bytes") end;
    . as $all | .figures as $figures
    | ["| | hop | hop, one CPU | round trip | creation | memory at rest | peak of 10,000 sleepers |",
       "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
       ([$figures[] | select(.section == $figures[0].section and .mean.value != null)]
        | group_by(.row) | sort_by(.[0].mean.value)[] | .[0].row as $row
        | $all
        | [$row,
           ((cell("A hop"; $row; 0), cell("A hop"; $row; 1), cell("Ping-pong"; $row; 0), cell("Creation"; $row; 0)) | marked),
           (cell("Memory"; $row; 0) | .user.line.slope.estimate | size), (cell("10,000"; $row; 1) | .mean.value | size)]
        | "| " + join(" | ") + " |")]
    | join("\n");
