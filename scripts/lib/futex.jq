# The law of the futex table, of the records of the plan `futex`: wake = a + b * sleepers / slots.
include "documents";

def nobody: "A wake-up of nobody: time each";
def thread: "A wake-up of a thread";
def cold: "A wake-up of nobody after";
def tables: "2 slots", "8 slots", "32 slots", "128 slots", "512 slots", "2,048 slots", "8,192 slots", "65,536 slots",
    "the kernel's default", "the system's table";
def counts: [64, 256, 1024, 4096, 16384];
def slots($table): at("futex"; "Tables"; $table) | .mean.value;
def cell($section; $table; $n): at("futex"; $section; $table; if $n == 0 then "0 idle" else $n | commas end);
# Sleepers in a slot, and the time of a wake-up beside them.
def cells($section; $n): [tables as $table | cell($section; $table; $n)
    | {x: ($n / slots($table)), y: .mean.value} + (graded | {disturbed, contradicted})];

# a is the median without sleepers; b is fitted to every other table (least squares of relative errors), and predicts the
# rest; t of four degrees of freedom.
def law($section; $n): ([cells($section; 0)[].y] | median) as $a | cells($section; $n) as $all
    | [$all | to_entries[] | select(.key % 2 == 0) | .value] as $fitted
    | ($fitted | map(.x * .x / .y / .y) | add) as $weight
    | ($fitted | map(.x * (.y - $a) / .y / .y) | add / $weight) as $b
    | def errors: map(($a + $b * .x) / .y - 1);
      (2.776 * sqrt(($fitted | errors | map(. * .) | add / 4) / $weight)) as $half
    | {a: $a, errors: [$all | to_entries[] | select(.key % 2 == 1) | .value] | errors,
       b: {quantity: "time", estimate: $b, low: ($b - $half), high: ($b + $half),
           disturbed: ($all | any(.disturbed)), contradicted: ($all | any(.contradicted))}};
def b($section; $n): law($section; $n).b;
def worst: max_by(fabs) | "\(if . > 0 then "+" else "" end)\(. * 100 | digits(2)) %";
def law_table: table(["sleepers", "b, nobody", "worst of 5 predicted", "b, a thread", "worst of 5 predicted", "b, cold"];
    counts[] as $n
    | [($n | commas), ((nobody, thread) as $section | law($section; $n) | (.b | shown("time")), (.errors | worst)),
       (cold_b($n) | shown("time"))]);
