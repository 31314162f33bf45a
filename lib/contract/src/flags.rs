//! Flags of every program.

use clap::builder::NonEmptyStringValueParser;

/// Size of a run and form of its output. A program flattens this into its own flags, and sets its defaults in
/// [`crate::Program::DEFAULTS`].
#[derive(Clone, Debug, clap::Args)]
pub struct Flags {
    /// Number of tasks
    #[arg(long, visible_alias = "threads", value_name = "N", allow_negative_numbers = true, default_value = "500", value_parser = clap::value_parser!(u32).range(1..))]
    pub tasks: u32,

    /// Number of timed iterations
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "10000", value_parser = clap::value_parser!(u64).range(1..))]
    pub iters: u64,

    /// Number of untimed iterations that run first
    #[arg(
        long,
        visible_alias = "warmups",
        value_name = "N",
        allow_negative_numbers = true,
        default_value = "100"
    )]
    pub warmup: u64,

    /// Do not print the result
    #[arg(long, short, conflicts_with_all = ["describe", "controlled"])]
    pub quiet: bool,

    /// Run this shell command once, while all tasks exist and wait; {pid} stands for the process ID
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub command: Option<String>,

    /// Print one JSON line that says what this command line would build and need
    #[arg(long, help_heading = "For a runner (docs/CONTRACT.md)")]
    pub describe: bool,

    /// Follow requests on standard input, and answer in JSON lines
    #[arg(long, help_heading = "For a runner (docs/CONTRACT.md)", conflicts_with_all = ["describe", "command", "iters"])]
    pub controlled: bool,
}

/// Default size of a program's run.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// `--tasks`
    pub tasks: u32,
    /// `--iters`
    pub iters: u64,
    /// `--warmup`
    pub warmup: u64,
}

impl Defaults {
    /// Size of the original experiment's brigades.
    pub const BRIGADE: Defaults = Defaults { tasks: 500, iters: 10_000, warmup: 100 };

    /// Puts the defaults into a command that has [`Flags`].
    pub(crate) fn apply(self, command: clap::Command) -> clap::Command {
        command
            .mut_arg("tasks", |arg| arg.default_value(self.tasks.to_string()))
            .mut_arg("iters", |arg| arg.default_value(self.iters.to_string()))
            .mut_arg("warmup", |arg| arg.default_value(self.warmup.to_string()))
    }
}
