# `report --export-json` of the plan `languages` as one SVG: a panel for each figure, on a log scale.
include "figures";

def left: 170;
def width: 590;
def line: 17;

# Rows with their values, below a title and a scale.
def panel($title; $top; $base; show):
    def logarithm: log10 / ($base | log10);
    map(select(.value > 0)) | sort_by(.value)
    | (map(.value | logarithm)) as $all | ($all | min | floor) as $low | ($all | max | ceil) as $high
    | def x: left + width * (logarithm - $low) / ($high - $low);
      "<text x='0' y='\($top)' class='title'>\($title)</text>",
      (range($low; $high + 1) | pow($base; .)
       | "<line x1='\(x)' x2='\(x)' y1='\($top + 8)' y2='\($top + 14 + ($all | length) * line)' class='grid'/>"
         + "<text x='\(x)' y='\($top + 2)' text-anchor='middle' class='faint'>\(show)</text>"),
      (to_entries[] | ($top + 24 + .key * line) as $y | .value | (.value | x) as $x
       | "<text x='0' y='\($y)'>\(.row | @html)</text><circle cx='\($x)' cy='\($y - 4)' r='4'/>"
         + "<text x='\($x + 8)' y='\($y)' class='faint'>\(.value | show)</text>");


. as $all | rows as $names | (($names | length) * line + 52) as $height
| def figure($title): [$names[] | . as $row | {row: $row, value: ($all | cell($title; $row; 0) | value // slope)}];
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 \(left + width + 70) \($height * 3)' font-family='sans-serif' font-size='13' role='img'>",
  "<title>A hop, a creation and the memory of a task in several languages</title>",
  "<style>text{fill:#24292f}.title{font-weight:bold}.faint{fill:#6e7781;font-size:11px}.grid{stroke:#d0d7de}circle{fill:#0969da}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9198a1}.grid{stroke:#3d444d}circle{fill:#4493f8}}</style>",
  (figure("A hop") | panel("hop in memory"; 16; 10; time)),
  (figure("Creation") | panel("creation"; 16 + $height; 10; time)),
  (figure("Memory") | panel("user memory"; 16 + 2 * $height; 4; bytes)),
  "</svg>"
