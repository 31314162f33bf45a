//! Views as text for a terminal, as Markdown, as a page, as CSV and as SVG.

pub mod answer;
mod curves;
mod document;
pub(crate) mod estimate;
mod figures;
mod fleet;
mod formats;
mod found;
mod grid;
mod html;
pub mod layout;
pub mod limits;
mod machines;
mod markdown;
pub mod plot;
pub mod stat;
mod tables;
pub mod verdicts;

pub use document::Document;
pub use figures::document;
pub use formats::Format;
pub use found::Found;
pub use html::html;
pub use machines::{machines, machines_in_short};
