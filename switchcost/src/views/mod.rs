//! What a person asks for, as data: an answer, a comparison, machines side by side.

pub mod answer;
pub mod comparison;
pub(crate) mod conclusion;
pub(crate) mod estimate;
pub mod fleet;
pub mod limits;
pub(crate) mod process;
pub(crate) mod runs;
pub(crate) mod service;
pub(crate) mod tables;
