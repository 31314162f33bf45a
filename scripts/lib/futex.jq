# The law of the futex table, by the records of the plan `futex`: wake = a + b * sleepers / slots.
include "documents";

def nobody: "A wake-up of nobody: time each";
def thread: "A wake-up of a thread: time per hop";
def cold: "A wake-up of a thread after";
def default: "the kernel's default";
def tables: "2 slots", "8 slots", "32 slots", "128 slots", "512 slots", "2,048 slots", "8,192 slots", "65,536 slots",
    default, "the system's table";
def counts: 64, 256, 1024, 4096, 16384;
def column($n): if $n == 0 then "0 idle" else $n | commas end;
def slots($table): at("futex"; "Tables"; $table) | .mean.value;
def cell($section; $table; $n): at("futex"; $section; $table; column($n));
def flags: {quantity: "time", disturbed: any(.disturbed), contradicted: any(.contradicted)};
def brief: mark + (.quantity as $quantity | .estimate | plain($quantity));

# Sleepers in a slot, and the time of a wake-up beside them.
def cells($section; $n): [tables as $table | slots($table) as $slots | cell($section; $table; $n)
    | {x: ($n / $slots), y: .mean.value, disturbed, contradicted}];
# The time without sleepers: the median of all tables.
def a($section): cells($section; 0) | flags + {estimate: (map(.y) | median)};
# b is fitted to every other table by least squares of relative errors (t of four degrees of freedom), and predicts the rest.
def law($section; $n): a($section) as $a | cells($section; $n) as $all
    | def every_other($from): [$all | to_entries[] | select(.key % 2 == $from) | .value];
    every_other(0) as $fitted | ($fitted | map(.x * .x / .y / .y) | add) as $weight
    | ($fitted | map(.x * (.y - $a.estimate) / .y / .y) | add / $weight) as $b
    | def errors: map(($a.estimate + $b * .x) / .y - 1);
    (2.776 * ((($fitted | errors | map(. * .) | add / 4) / $weight) | sqrt)) as $half
    | {a: $a.estimate, errors: (every_other(1) | errors),
       # Of cells in which sleepers cost over a tenth of a.
       told: (every_other(1) | map(select($b * .x > 0.1 * $a.estimate)) | errors),
       b: ($all + [$a] | flags + {estimate: $b, low: ($b - $half), high: ($b + $half)})};
def b($section; $n): law($section; $n).b;
# b in the kernel's default table if the L2 cache holds other memory.
def cold_b($n): slots(default) as $slots | less(cell(cold; default; $n); cell(cold; default; 0)) | scaled($slots / $n);
def worst: max_by(fabs) | "\(if . > 0 then "+" else "" end)\(. * 100 | digits(2)) %";
def law_table: table(["sleepers", "b, nobody", "worst of 5", "b, a thread", "worst of 5", "b, cold L2, 16 slots"];
    counts as $n | [($n | commas), ((nobody, thread) as $section | law($section; $n) | (.b | shown("time")), (.errors | worst)),
                    (cold_b($n) | shown("time"))]);
# Predictions within 10 %.
def predicted: [(nobody, thread) as $section | counts as $n | law($section; $n)]
    | def within: "\(map(select(fabs <= 0.1)) | length) of \(length)";
    (map(.errors[]) | within) + " predictions are within 10 %, " + (map(.told[]) | within) + " if the sleepers cost over 0.1 a";
# Switches of a hop: the least and the most of all cells.
def switches_of_all: [tables as $table | (0, counts) as $n | at("futex"; thread; $table; column($n) + ": switches") | .mean.value]
    | [min, max] | map(digits(4)) | distinct | join(" to ");
# A kind of words beside the usual one, with 1,024 sleepers.
def kind($row): over(at("futex"; "Kinds"; $row; "1,024 idle"); at("futex"; "Kinds"; "private, spread"; "1,024 idle"));
def table_memory($table): at("futex"; "Tables"; $table; "memory") | mean;
# The same cells by benches/futex-table.c, medians of its runs, ÷ the plan's.
def in_c: [record("futex-c")[] | select(.ns)] as $found
    | [(["nobody", nobody], ["thread", thread]) as [$kind, $section] | (tables | select(. != default)) as $table | (0, counts) as $n
        | (if $table | test("system") then "512*" else $table | gsub(" slots|,"; "") end) as $name
        | ([$found[] | select(.kind == $kind and .table == $name and .sleepers == $n)] | ensure(length == 1; "\($kind), \($name), \($n)")
            | .[0].ns | median) / (cell($section; $table; $n) | .mean.value)]
    | "\(map(select(. <= 1.1 and . >= 0.9)) | length) of \(length) cells are within 10 %, the median is \(median | digits(2))";
# Idle threads that lengthen a hop by a tenth, in the kernel's default table.
def threshold: slots(default) as $slots | a(thread) as $a | b(thread; 256) as $b
    | ([$a, $b] | flags | mark) + (0.1 * $a.estimate * $slots / $b.estimate | digits(2));
def longer_if_cold($n): over(cell(cold; default; $n); cell(cold; default; 0)) | .estimate -= 1 | .low -= 1 | .high -= 1 | percent;

# The cells of a wake-up of a thread over sleepers in a slot, with the line of each number of sleepers.
def plot:
    def X: (log10 + 3) / 7 * 690 + 80;
    def Y: 400 - (log10 - 2.7) / 3.3 * 340;
    def at_x($class; $x; $y): "<circle class=\"\($class)\" cx=\"\($x | X | round)\" cy=\"\($y | Y | round)\" r=\"4.5\"/>";
    def text($x; $y; $anchor; $text): "<text x=\"\($x)\" y=\"\($y)\" text-anchor=\"\($anchor)\">\($text)</text>";
    [ "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"470\" viewBox=\"0 0 800 470\"><title>A hop over sleepers in a slot</title><style>svg{font:12px system-ui,sans-serif;fill:#1c222b} .grid{stroke:#dfe3e8} .paper{fill:#fff} .s0{fill:#0072b2;stroke:#0072b2} .s1{fill:#56b4e9;stroke:#56b4e9} .s2{fill:#009e73;stroke:#009e73} .s3{fill:#e69f00;stroke:#e69f00} .s4{fill:#d55e00;stroke:#d55e00} path{fill:none!important;stroke-width:1.5px}</style><rect class=\"paper\" width=\"800\" height=\"470\"/>",
      text(20; 26; "start"; "A hop between threads on one CPU, over the sleepers in a slot; lines: the law"),
      text(20; 458; "start"; machine_line("futex")),
      (range(-3; 5) | pow(10; .) | (X | round) as $x
        | "<line class=\"grid\" x1=\"\($x)\" y1=\"60\" x2=\"\($x)\" y2=\"400\"/>", text($x; 418; "middle"; digits(1))),
      ((1e3, 1e4, 1e5, 1e6) as $y | ($y | Y | round) as $at
        | "<line class=\"grid\" x1=\"80\" y1=\"\($at)\" x2=\"770\" y2=\"\($at)\"/>", text(72; $at + 4; "end"; $y | plain("time"))),
      text(425; 440; "middle"; "sleepers ÷ slots"),
      (range(0; 5) as $k | [counts][$k] as $n | law(thread; $n) as $law
        | "<path class=\"s\($k)\" d=\"M\([range(0; 71) / 10 - 3 | pow(10; .) | select(. <= $n / 2) | [X, ($law.a + $law.b.estimate * . | Y)] | map(. * 10 | round / 10 | tostring) | join(",")] | join("L"))\"/>",
          (cells(thread; $n)[] | at_x("s\($k)"; .x; .y)),
          "<circle class=\"s\($k)\" cx=\"\(110 + 130 * $k)\" cy=\"46\" r=\"4.5\"/>", text(120 + 130 * $k; 50; "start"; "\($n | commas) sleepers")),
      "</svg>" ] | join("\n");
