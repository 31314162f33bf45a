//! One file for each verb.

pub(crate) mod args;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod duel;
pub(crate) mod estimate;
pub(crate) mod gate;
mod kept;
pub(crate) mod limits;
pub(crate) mod output;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod stat;
pub(crate) mod sweep;
