# `report --export-json` of the plan `languages` as one table: a line for each kind of task, sorted by its hop.
include "figures";

def or_none(show): if . == null then "–" else show end;

. as $all
| "| | hop | hop, one CPU | round trip | creation | memory at rest | 10,000 sleepers | peak | 100,000 sleepers | peak |",
  "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
  (rows
   | sort_by(. as $row | $all | cell("A hop"; $row; 0) | mean // infinite)[]
   | . as $row
   | $all
   | [$row,
      ((cell("A hop"; $row; 0), cell("A hop"; $row; 1), cell("Ping-pong"; $row; 0), cell("Creation"; $row; 0))
       | mean | or_none(time)),
      (cell("Memory"; $row; 0) | slope | or_none(bytes)),
      (("10,000", "100,000") as $count
       | (cell($count; $row; 0) | mean | or_none(time)),
         (cell($count; $row; 1) | mean | or_none(bytes)))]
   | "| " + join(" | ") + " |")
