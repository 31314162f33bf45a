include "versions";

# One panel for each figure: dots with intervals over the versions, on a common line of no change.
def left: 210;
def width: 560;
def height: 84;

def panel($k; $count):
    . as $series
    | ([.findings[] | select(.change) | .change.low, .change.high | fabs] + [0.05] | max) as $most
    | ($k * height + 44) as $middle
    | (height * 0.4 / $most) as $scale
    | "<text x='0' y='\($middle - 4)'>\(.title | @html)</text>",
      "<text x='0' y='\($middle + 12)' class='faint'>± \($most | percent | ltrimstr("+"))</text>",
      "<line x1='\(left)' x2='\(left + width)' y1='\($middle)' y2='\($middle)' class='zero'/>",
      (.findings | to_entries[] | select(.value.change)
       | (left + (.key + 0.5) * width / $count) as $x
       | .value | .change as $c
       | "<g class='\(word)'><line x1='\($x)' x2='\($x)' y1='\($middle - $c.low * $scale)' y2='\($middle - $c.high * $scale)'/>"
         + "<circle cx='\($x)' cy='\($middle - $c.estimate * $scale)' r='3.5'/></g>");

. as $duels | series as $series | ($duels | length) as $count
| ($series | length * height + 40) as $bottom
| "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 \(left + width) \($bottom + 20)' font-family='sans-serif' font-size='13' role='img'>",
  "<title>Changes against Tokio \($base)</title>",
  "<style>text{fill:#24292f}.faint{fill:#6e7781;font-size:11px}line{stroke-width:2}.zero{stroke:#8c959f;stroke-width:1}.more *{stroke:#cf222e;fill:#cf222e}.less *{stroke:#1a7f37;fill:#1a7f37}.within *,.inconclusive *{stroke:#8c959f;fill:#8c959f}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9198a1}}</style>",
  ($series | to_entries[] | .key as $k | .value | panel($k; $count)),
  ($duels | to_entries[]
   | "<text x='\(left + (.key + 0.5) * width / $count)' y='\($bottom)' text-anchor='middle' class='faint'>\(.value | version | @html)</text>"),
  "<text x='0' y='\($bottom)' class='faint'>against Tokio \($base)</text>",
  "</svg>"
