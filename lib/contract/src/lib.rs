//! What a measured program and its runner say to each other (docs/CONTRACT.md).

pub mod message;
pub mod units;
