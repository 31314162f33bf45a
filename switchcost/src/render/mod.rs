//! Reports as text for a terminal, as Markdown, as a page, as CSV, as JSON and as SVG.

pub mod answer;
mod cells;
mod curves;
mod document;
mod estimate;
pub mod figures;
pub mod fleet;
mod formats;
mod grid;
pub mod layout;
mod limits;
mod markdown;
pub mod plot;
mod process;
mod report;
mod tables;
mod verdicts;

pub use document::Document;
pub use figures::FiguresReport;
pub use formats::Format;
pub use report::{Report, Spreadsheet};
