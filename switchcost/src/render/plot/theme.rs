//! The colours of plots. What stands in the SVG is the light theme, so that a plot that is taken
//! out of its page stays readable; the page's style sheet replaces each colour by a variable.

use std::fmt::Write;

use plotters::style::RGBColor;

/// Text and interval bars.
pub(in crate::render) const INK: RGBColor = RGBColor(0x1C, 0x22, 0x2B);
/// Axis labels.
pub(super) const MUTED: RGBColor = RGBColor(0x5A, 0x65, 0x73);
/// Grid lines.
pub(super) const GRID: RGBColor = RGBColor(0xDF, 0xE3, 0xE8);
/// What the plot stands on.
pub(in crate::render) const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFE);

/// The colours of Okabe and Ito, which colour-blind readers tell apart, without the yellow that
/// nobody sees on white; in an order that sets neighbours far apart.
pub(super) const SERIES: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
];

/// The names of the light theme's colours, and what each becomes in the dark one: the series are
/// the same hues, lighter, in the same order.
const COLORS: [(&str, RGBColor, &str); 10] = [
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
pub(super) fn series(index: usize) -> RGBColor {
    SERIES[index % SERIES.len()]
}

/// A colour as plotters writes it.
pub(in crate::render) fn hex(RGBColor(r, g, b): RGBColor) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// The variables of a theme.
pub(in crate::render) fn variables(dark: bool) -> String {
    COLORS
        .iter()
        .fold(String::new(), |mut css, (name, light, at_night)| {
            let light = hex(*light);
            let value = if dark { at_night } else { light.as_str() };
            let _ = write!(css, "--{name}:{value};");
            css
        })
}

/// The rules that put the variables in the place of the colours.
pub(in crate::render) fn rules() -> String {
    COLORS
        .iter()
        .fold(String::new(), |mut css, (name, light, _)| {
            for attribute in ["fill", "stroke"] {
                let light = hex(*light);
                let _ = writeln!(
                    css,
                    "svg [{attribute}=\"{light}\"]{{{attribute}:var(--{name})}}"
                );
            }
            css
        })
}
