//! What a verb prints: a document for people, lines for a spreadsheet, and all that is known for programs.

use serde::Serialize;
use serde_json::Value;

use super::document::Document;

/// A result. Programs read the whole of it as JSON, unrounded.
pub trait Report: Serialize {
    /// It as people read it, in one or several documents.
    fn documents(&self) -> Vec<Document>;

    /// It as a page, where there is room for more.
    fn pages(&self) -> Vec<Document> {
        self.documents()
    }

    /// It as a spreadsheet reads it.
    fn spreadsheet(&self) -> Spreadsheet;
}

/// Lines for a spreadsheet. Times are in ns, sizes in bytes, rates and throughputs per second; a field is empty if it is
/// unknown.
pub struct Spreadsheet {
    /// The name of each column, and where its value is in a line's JSON.
    pub(crate) columns: &'static [(&'static str, &'static str)],
    pub(crate) lines: Vec<Value>,
}
