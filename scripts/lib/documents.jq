# Figures for documents: see scripts/figures.sh. The input holds the exports of all files of records, by
# MACHINE/FILE.
# A number of so many digits; one beyond all figures is an interval without an end.
def digits($n): if . == 0 then "0" elif fabs > 1e12 then (if . < 0 then "-∞" else "∞" end) else
    pow(10; (fabs | log10 | floor) - $n + 1) as $unit
    | (. / $unit | round * $unit) as $x
    | ([$n - 1 - ($x | fabs * 1.000001 | log10 | floor), 0] | max) as $decimals
    | if $decimals == 0 then $x | round | tostring
      else ($x * pow(10; $decimals) | round | tostring) as $all
        | (if $x < 0 then "-" else "" end) as $sign
        | ($all | ltrimstr("-")) as $all
        | ("0" * ([$decimals + 1 - ($all | length), 0] | max) // "") + $all
        | $sign + .[:-$decimals] + "." + .[-$decimals:] end end;

def ensure(condition; $message): if condition then . else error($message) end;

# Machine of the documents, and those of the records that it lacks, in this order.
def machines: "xeon6b-2vcpu-6.18", "epyc5-2vcpu-6.18", "epyc3-2vcpu-6.18";
def machine: first(machines);
# The one whose kernel clears CPU buffers.
def clearing: "epyc3-2vcpu-6.18";
# The one whose yardsticks are nearest to those of bare metal.
def near_bare: "xeon6-2vcpu-6.18";

# Where a file of records is: that of a machine, if it names one.
def path_of($file): if $file | contains("/") then $file
    else . as $all | [machines + "/" + $file | select(. as $path | $all | has($path))]
        | ensure(length > 0; "there are no records \($file)") | .[0] end;
def record($file): .[path_of($file)];
# Names the machine of a file's records if it is not that of the documents.
def elsewhere($file): path_of($file) | split("/")[0] | if . == machine then "" else "Measured on [\(.)](../results)." end;

# What a grade says: whether it backs no verdict, and its mark.
def graded: .contradicted = (.grade == "contradicted") | .disturbed = (.grade != "sure");

# Median of numbers.
def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;

# Programs of others in turns with ours (`scripts/beside.sh`): ours ÷ theirs, with the range of the pairs.
def beside($name; $placement): record("beside")
    | [.[] | select(.name == $name and .placement == $placement)]
    | ensure(length == 1; "beside: \($name), \($placement): \(length) lines") | .[0]
    | [.ours_ns, .theirs_ns] | transpose | map(.[0] / .[1])
    | {quantity: "ratio", estimate: median, low: min, high: max, disturbed: false, contradicted: false};
# Calls of one kind per hop.
def calls($name; $call): record("beside") | [.[] | select(.name == $name and .calls)]
    | ensure(length == 1; "calls: \($name): \(length) lines") | .[0]
    | ((.calls[$call] // 0) / .hops) as $each | {quantity: "count", estimate: $each} | .low = .estimate | .high = .estimate
    | .disturbed = false | .contradicted = false;
# Bytes of a task of the original async-brigade with a version of Tokio: the slope by least squares.
def original_task($tokio): record("beside") | [.[] | select(.tokio == $tokio)]
    | ensure(length == 1; "Tokio \($tokio): \(length) lines") | .[0].resident_bytes
    | (length as $n | map(.[0]) | add / $n) as $x | (length as $n | map(.[1]) | add / $n) as $y
    | {quantity: "bytes", disturbed: false, contradicted: false,
       estimate: ((map((.[0] - $x) * (.[1] - $y)) | add) / (map((.[0] - $x) * (.[0] - $x)) | add))}
    | .low = .estimate | .high = .estimate;

# An interval with its grade. A figure of too few runs for one has none: `few`.
def ends: .interval // {estimate: .value, low: .value, high: .value, few: true} | {estimate, low, high, few};
def bounds: (graded | {disturbed, contradicted}) + ends;

# A figure that was measured. Its grade is the runner's: ~ marks one that the machine disturbed, ! one that its
# counters contradict, and neither backs a verdict.
def sound($name): ensure(.outcome == "measured" or .outcome == "slope"; "\($name): \(.outcome)")
    | graded;

def mark: if .contradicted then "!" elif .disturbed then "~" else "" end;

# The figure of a file's section (by the beginning of its title), row and column.
def at($file; $section; $row; $column):
    "\($file): \($section), \($row), \($column)" as $name
    | [record($file).figures[]
       | select((.section | startswith($section)) and .row == $row and .column == $column)]
    | ensure(length == 1; "\($name): \(length) figures")
    | .[0] | sound($name);
def at($file; $section; $row): at($file; $section; $row; "");

# A point of a sweep, in the section of a title that begins so.
def point($file; $section; $row; $x):
    "\($file): \($section), \($row) at \($x)" as $name
    | [record($file).figures[] | select((.section | startswith($section)) and .row == $row and .x == $x)]
    | ensure(length == 1; "\($name): \(length) figures")
    | .[0] | sound($name);
def point($file; $row; $x): point($file; ""; $row; $x);

# A curve of a file by its title, and one of its series.
def curve($file; $title): [record($file).curves[] | select(.title == $title)]
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
    | "\(mark)\(.estimate / $by | digits(2))\($unit)"
      + if .few then "" else " [\(.low / $by | digits(2)), \(.high / $by | digits(2))]" end;

# Of a figure: its mean, or the slope of its user memory, without and with the interval.
def interval: {disturbed, contradicted} + if .outcome == "slope" then .user.line.slope
    else .mean | ends end;
def mean: .quantity as $quantity
    | mark + if .modes then [.modes[].centre | plain($quantity)] | join(" or ") else interval.estimate | plain($quantity) end;
def mean_interval: if .modes or (interval | .low == .high) then mean else .quantity as $quantity | interval | shown($quantity) end;

# A figure as a value: an estimate with the ends of its interval, its grade and its quantity. What is one already stays so.
def value: if .outcome then {quantity, modes} + interval else . end;

# Parts of a slope: `user`, `kernel` and `all`; of `parts` for example `stacks`.
def part(f): {quantity: "bytes", disturbed: (.grade != "sure"), contradicted: false}
    + (f.line.slope | ensure(.; "a slope without that part"));
# Kernel memory of a slope, if it can be told from 0.
def has_kernel: (.kernel.line.slope.low // 0) > 0;
def kernel: if has_kernel then part(.kernel).estimate | plain("bytes") else "not distinguishable from 0" end;
# User and kernel memory together.
def altogether: if has_kernel then part(.all) else value end;
def whole: altogether.estimate | plain("bytes");

# What the kernel counted per hop.
def switches: .evidence | "\(.switches | digits(3)) + \(.preemptions // 0 | digits(2)) preempted";
def wakeups: .evidence.wakeups // 0 | digits(2);

# A ratio of the answer, by the name of its row.
def answered($name): record("answer").answer.rows[] | select(.name == $name) | .ratio | bounds | shown("ratio");

# The machine of the answer.
def machine_line: record("answer").answer.machine;
def machine_line($file): path_of($file) as $path | .[($path | split("/")[0]) + "/answer"].answer.machine;

# How many times a figure is the one that its row is compared with.
def ratio: {quantity: "ratio"} + (.ratio | bounds);
def times: ratio | shown("ratio");

# A figure less the baseline of its row.
def net: {quantity: "time"} + (.net | bounds);
# A number that has no interval.
def exactly($quantity): {quantity: $quantity, estimate: ., low: ., high: ., disturbed: false, contradicted: false};

# A value of two, by the ends of both intervals: no tighter than it is.
def joined($this; $that; $quantity; f): ($this | value) as $this | ($that | value) as $that
    | [[$this.low, $this.high][] as $a | [$that.low, $that.high][] as $b | [$a, $b] | f] as $ends
    | {quantity: $quantity, estimate: ([$this.estimate, $that.estimate] | f), low: ($ends | min), high: ($ends | max)}
      + ([$this, $that] | {disturbed: any(.disturbed), contradicted: any(.contradicted), few: any(.few)});
# A divisor that may be zero leaves the quotient without an end.
def over($this; $that): ($that | value) as $by | ensure($by.estimate > 0; "a divisor of zero: \($by)")
    | joined($this; $by + {low: ([$by.low, $by.high * 1e-15] | max)}; "ratio"; .[0] / .[1]);
def less($this; $that): joined($this; $that; ($this | value | .quantity); .[0] - .[1]);
def minus($this; $that): less($this; $that) | .quantity as $quantity | .estimate | plain($quantity);
def scaled($by): .estimate *= $by | .low *= $by | .high *= $by;
def times($this; $that): over($this; $that) | mark + (.estimate | digits(2));

# A table: the first column on the left, the others on the right.
def table($heads; rows):
    ["| \($heads | join(" | ")) |", "| --- |\($heads[1:] | map(" ---: |") | join(""))"]
    + [rows | "| \(join(" | ")) |"] | join("\n");

# Efficiency of a rate per CPU at a point, in per cent.
def efficiency($file; $title; $name; $x): [series($file; $title; $name).efficiency[] | select(.[0] == $x) | .[1] | select(.interval) | bounds]
    | ensure(length == 1 and .[0]; "\($title): \($name): no efficiency at \($x)") | .[0];
def factor: value | mark + "× " + (.estimate | digits(2));
def percent: def n: . * 100 | digits(2); "\(mark)\(.estimate | n) % [\(.low | n), \(.high | n)]";

# What a duel says of a row's time.
def change: if . == null then "–"
    elif .verdict == "more" or .verdict == "less" then
        (.change | [.estimate, .low, .high] | map(. * 100 | digits(2))) as [$estimate, $low, $high]
        | "\(graded | mark)**\(if .verdict == "more" then "+" else "" end)\($estimate) %** [\($low), \($high)]"
    elif .verdict | type == "object" and has("within") then "± \(.verdict.within * 100 | digits(2)) %"
    elif .verdict | type == "object" and has("open") then "? \(.verdict.open * 100 | digits(2)) %"
    else "?" end;

def distinct: reduce .[] as $x ([]; if any(.[]; . == $x) then . else . + [$x] end);

# A duel against several settings: a line for each that changed something, a column for each program.
def duel_table($file): [record($file).rows[]
        | (.name | index(": ")) as $at
        | {program: .name[:$at], setting: .name[$at + 2:], change: ([.findings[] | select(.kind == "time")][0] | change)}]
    | . as $all | (map(.program) | distinct) as $programs
    | (map(select(.change | contains("**")).setting) | distinct) as $settings
    | table(["setting", $programs[]]; $settings[] as $setting
        | ["`\($setting)`", ($programs[] as $program
            | [$all[] | select(.program == $program and .setting == $setting) | .change][0] // "–")]);

# The answers of all machines beside each other: thread ÷ task.
def machines_table: [near_bare, machines] as $names
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

# A number with commas.
def commas: tostring | if length > 3 and test("^[0-9]+$") then (.[:-3] | commas) + "," + .[-3:] else . end;
# Rounded to two digits, with commas.
def about_so_many: digits(2) | tonumber | commas;
# A hop over TCP ÷ over pipes, unpinned; tasks on one thread.
def tcp($row): at("links"; "Over TCP"; $row; "unpinned") as $tcp
    | times($tcp; at("links"; "Through pipes"; ($row | split(",")[0]) + " over pipes"; "unpinned"));
# How often a second a time fills 5 % of a CPU.
def filling: value | mark + (0.05 * 1e9 / .estimate | about_so_many);
# How many of a slope's tasks a GiB holds, the kernel's share included.
def in_gib: 1073741824 / altogether.estimate | about_so_many;

# A setting of the duels of knobs.md, of which the name holds a text: how many times a program takes with it.
def knob($setting; $program): record("knobs")
    | [.rows[] | select((.name | startswith($program + ": ")) and (.name | contains($setting))) | .findings[] | select(.kind == "time")]
    | ensure(length == 1; "\($program), \($setting): \(length) findings") | .[0]
    | {quantity: "ratio"} + (graded | {disturbed, contradicted}) + (.change | {estimate: (1 + .estimate), low: (1 + .low), high: (1 + .high)});

# The price list of waiting: a hop between two sides, by the place of the other one.
def hop_to($row; $column): at("waiting"; "Signals"; $row; $column);
def places: "here", "same CPU", "other CPU, idle", "other CPU, busy";
def hops_table: table(["", places, "calls", "CPU time"];
    ("futex", "condition variable", "pipe, epoll", "MSG_RING, io_uring", "Notify", "mpsc", "watch") as $row
    | [$row, (places as $place | hop_to($row; $place) | mean), (("calls", "CPU") as $also | hop_to($row; "other CPU, idle: \($also)") | mean)]);
# What else waits, once.
def waited($section; $row; $column): at("waiting"; $section; $row; $column);
def waited($section; $row): waited($section; $row; "");

# Reverts of Tokio: what a duel of 60 s finds of a pair of versions, and what criterion says of Tokio's own benches.
def found_changes: [.rows[] | .name as $name | .findings[] | select(.kind == "time" and (.verdict == "more" or .verdict == "less"))
    | {name: ($name | sub(", pinned$"; "")), change: .change.estimate}];
def signed: "\(.name) \(if .change > 0 then "+" else "" end)\(.change * 100 | digits(2)) %";
def criterion($from; $to): [record("criterion")[] | select(.from == $from and .to == $to)]
    | [.[] | select(.verdict != "none")] as $found
    | "\($found | length) of \(length)" + if $found == [] then "" else ", most " + ($found | max_by(.change | fabs) | .name = .function | signed) end;
def reverts_table: table(["from, to", "what", "`switchcost duel`", "criterion, on Tokio's benches"];
    (["1.44.2", "1.45.0", "timers no longer in shards"], ["1.51.1", "1.51.2", "LIFO slots no longer stolen from"],
     ["1.52.0", "1.52.1", "blocking work no longer in shards"], ["1.50.0", "1.51.1", "LIFO slots stolen from"]) as [$from, $to, $what]
    | ["\($from), \($to)", $what, (record("reverts-\($from)") | found_changes | map(signed) | join("; ")), criterion($from; $to)]);
