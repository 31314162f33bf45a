//! The runner against other users, hostile files and hostile environments.

mod build;
mod cli;
mod programs;
mod runs;
mod text;
