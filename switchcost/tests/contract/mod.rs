//! What every benchmark program promises.

mod command;
mod counters;
mod executors;
mod floor;
mod machine;
mod payload;
mod placement;
mod policy;
mod record;
mod stdout;
mod text;
mod usage;
mod variants;
