# The figures of the plan `languages` as one table: a line for each kind of task, sorted by its hop.
include "figures";

def or_none(show): if . == null then "–" else show end;

# A time with the mark of its grade.
def marked: if . == null or value == null then "–"
    else {sure: "", disturbed: "~", contradicted: "!"}[.grade] + (value | time) end;

def languages_table: . as $all
    | ["| | hop | hop, one CPU | round trip | creation | memory at rest | 10,000 sleepers | peak | 100,000 sleepers | peak |",
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
      (rows
       | sort_by(. as $row | $all | cell("A hop"; $row; 0) | value // infinite)[]
       | . as $row
       | $all
       | select(cell("A hop"; $row; 0) | value)
       | [$row,
          ((cell("A hop"; $row; 0), cell("A hop"; $row; 1), cell("Ping-pong"; $row; 0), cell("Creation"; $row; 0)) | marked),
          (cell("Memory"; $row; 0) | slope | or_none(bytes)),
          (("10,000", "100,000") as $count
           | (cell($count; $row; 0) | marked),
             (cell($count; $row; 1) | value | or_none(bytes)))]
       | "| " + join(" | ") + " |")]
    | join("\n");
