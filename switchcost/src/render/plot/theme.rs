//! The colours of plots. What stands in the SVG is the light theme, so that a plot that is taken
//! out of its page stays readable; the page's style sheet replaces each colour by a variable.

use std::fmt::Write;

/// A colour as SVG has it.
pub(in crate::render) type Color = &'static str;

/// Text and interval bars.
pub(in crate::render) const INK: Color = "#1C222B";
/// Axis labels.
pub(super) const MUTED: Color = "#5A6573";
/// Grid lines.
pub(super) const GRID: Color = "#DFE3E8";
/// Background of a plot.
pub(in crate::render) const PAPER: Color = "#FFFFFE";

/// The colours of Okabe and Ito, which colour-blind readers tell apart, without the yellow that
/// nobody sees on white; in an order that sets neighbours far apart.
pub(super) const SERIES: [Color; 6] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];

/// The names of the light theme's colours, and what each becomes in the dark one: the series are
/// the same hues, lighter, in the same order.
const COLORS: [(&str, Color, &str); 10] = [
    ("ink", INK, "#E8ECF1"),
    ("muted", MUTED, "#9AA7B5"),
    ("grid", GRID, "#2C343E"),
    ("paper", PAPER, "#14181D"),
    ("series-1", SERIES[0], "#4FA8E0"),
    ("series-2", SERIES[1], "#F5874A"),
    ("series-3", SERIES[2], "#2FC799"),
    ("series-4", SERIES[3], "#E09CC4"),
    ("series-5", SERIES[4], "#F2B632"),
    ("series-6", SERIES[5], "#9BD6F7"),
];

/// The colour of a series, by its place among them.
pub(super) fn series(index: usize) -> Color {
    SERIES[index % SERIES.len()]
}

/// The variables of a theme.
pub(in crate::render) fn variables(dark: bool) -> String {
    COLORS.iter().fold(String::new(), |mut css, (name, light, at_night)| {
        let value = if dark { at_night } else { light };
        let _ = write!(css, "--{name}:{value};");
        css
    })
}

/// The rules that put the variables in the place of the colours.
pub(in crate::render) fn rules() -> String {
    COLORS.iter().fold(String::new(), |mut css, (name, light, _)| {
        for attribute in ["fill", "stroke"] {
            let _ = writeln!(css, "svg [{attribute}=\"{light}\"]{{{attribute}:var(--{name})}}");
        }
        css
    })
}
