//! `switchcost stat`: one run of one program, with everything that can be observed.

use std::env;
use std::sync::Arc;

use anyhow::{Context, bail};
use nix::unistd::{AccessFlags, access};
use record::{Also, Command, Effort, Metric, Place, Record, Row};

use crate::measure::pace::Pace;
use crate::measure::turns::{self, Live, Options, SideOrder};
use crate::measure::{begin, probe};
use crate::plan::change::{Change, ensure_each_once};
use crate::plan::command::{CommandFlags, PROGRAM};
use crate::plan::lineup::Lineup;
use crate::plan::programs::Programs;
use crate::plan::refusal::Refusal;
use crate::plan::{built_in_tables, ensure_no_runner_flags};
use crate::system::console::BadUsage;
use crate::system::lock;
use crate::system::signals;
use crate::verbs::args::shows_help;
use crate::verbs::output::{self, Format};
use crate::views::process::Observed;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Setting for the program, repeatable: cpus=0,2-3, policy=batch, NAME=VALUE (an environment variable), or
    /// wrap="nice -n 19" (a command that executes the program)
    #[arg(long, value_name = "SETTING")]
    set: Vec<Change>,

    /// Number of timed iterations [default: 1000, or 20 runs of a command]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    iters: Option<u64>,

    #[command(flatten)]
    options: Options,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    how: CommandFlags,

    /// Name or path of a program that follows docs/CONTRACT.md, and its flags; or, after `--`, any command
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    words: Vec<String>,
}

/// Timed iterations, unless the user says how many: of a program, and of a command.
const ITERATIONS: [u64; 2] = [1000, 20];

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let row = args.row()?;
    let program = if args.is_command() { PROGRAM } else { &args.words[0] };
    let programs = Programs::up_to_date([program], &built_in_tables()?)?;
    let executable = programs.named(program)?;
    if shows_help(executable, &row.command.flags)? {
        return Ok(());
    }
    if row.command.setting.wrap.is_empty() {
        let path = &executable.path;
        access(path, AccessFlags::X_OK)
            .map_err(|e| BadUsage::new(format!("cannot start {}: {}", path.display(), e.desc())))?;
    }
    // A signal from here on ends the program, too.
    signals::install()?;
    let _lock = lock::acquire();
    let Command { flags, setting, .. } = &row.command;
    let described = probe::describe(executable, flags, setting);
    if signals::received().is_some() {
        bail!("interrupted before the measurement began");
    }
    match described.map_err(|e| e.downcast::<Refusal>()) {
        Err(Ok(Refusal::NoFlag(flag))) if is_option(&flag) => {
            return Err(BadUsage::new(format!(
                "{flag}: options of `switchcost stat` go before {program}"
            )));
        }
        Err(Ok(Refusal::NoDescription(why))) => {
            bail!(
                "{program}: {why}; for any other program, `switchcost stat -- {program}` or `switchcost estimate --pid PID`"
            );
        }
        // What it refuses otherwise it refuses when it runs, and that is reported.
        _ => {}
    }
    let mut live = Live::new(&row, executable);
    live.pace = Some(if args.is_command() {
        Pace::of_runs(row.effort.iters)
    } else {
        Pace::whole(row.effort.iters)
    });
    let mut rng = fastrand::Rng::with_seed(0);
    let (group, measured) =
        turns::measure(vec![live], &args.options, &mut rng, SideOrder::default(), |_, _| {});
    let Live { mut trial, .. } =
        measured.into_iter().flatten().next().context("nothing was measured")?;
    let lineup = Lineup { rows: vec![row], programs, ..Lineup::default() };
    let run = begin::header(Some(0), &lineup);
    let group = Some(Arc::new(group)).filter(|_| !trial.slices.is_empty());
    let description = trial.description.take().map(Arc::new);
    let record = Record::new(Arc::new(run), description, group, trial);
    let process = Observed::of(record);
    output::print(&process, args.format)?;
    let record = &process.record;
    let Some(error) = &record.error else { return Ok(()) };
    match record.stderr.as_ref().filter(|_| args.format == Format::Text) {
        Some(words) => bail!(
            "{program}: {error}; --format json shows all {} lines that it printed",
            words.lines().count()
        ),
        None => bail!("{program}: {error}"),
    }
}

/// True if a flag is an option of this verb.
fn is_option(flag: &str) -> bool {
    let options = <Args as clap::Args>::augment_args(clap::Command::new("stat"));
    let name = flag.trim_start_matches('-').split('=').next();
    options.get_opts().any(|option| option.get_long() == name)
}

impl Args {
    /// The only row of the run.
    fn row(&self) -> anyhow::Result<Row> {
        if self.is_command() {
            return self.row_of_command();
        }
        if self.how != CommandFlags::default() {
            let why = "a command goes after `--`, as in `switchcost stat --shell -- 'ls | wc'`";
            return Err(BadUsage::new(why));
        }
        let (program, flags) = self.words.split_first().context("name a program")?;
        let mut flags = flags.to_vec();
        let iters = self.iters.unwrap_or(ITERATIONS[0]);
        let iters = take(&mut flags, "--iters")?.unwrap_or(iters);
        if iters == 0 {
            return Err(BadUsage::new("--iters 0: a run needs at least 1 iteration"));
        }
        let warmup = take(&mut flags, "--warmup")?.unwrap_or(iters.div_ceil(10));
        ensure_no_runner_flags(&flags).map_err(|e| BadUsage::new(e.to_string()))?;
        let program = program.rsplit('/').next().unwrap_or(program).to_owned();
        // All that it can show.
        let also = [Metric::SystemPerTask, Metric::SetUp];
        let also = also.map(|metric| Also { name: metric.label(), metric }).to_vec();
        let place = Place { section: program.clone(), row: program.clone(), ..Place::default() };
        let mut command = Command { program, flags, ..Command::default() };
        ensure_each_once(&self.set)?;
        self.set.iter().for_each(|change| change.put_into(&mut command));
        Ok(Row {
            place,
            also,
            command,
            effort: Effort { iters, warmup, ..Effort::default() },
            ..Row::default()
        })
    }

    /// True if `--` stands before the words. The words are the last of the command line, whatever they are.
    fn is_command(&self) -> bool {
        env::args_os().rev().nth(self.words.len()).is_some_and(|word| word == "--")
    }

    /// The only row of the runs of a command.
    fn row_of_command(&self) -> anyhow::Result<Row> {
        self.how.row(&self.words)?;
        let mut rows = self.how.plan(&self.words).rows().into_iter();
        let mut row = rows.next().context("name a command")?;
        row.effort.iters = self.iters.unwrap_or(ITERATIONS[1]);
        ensure_each_once(&self.set)?;
        self.set.iter().for_each(|change| change.put_into(&mut row.command));
        Ok(row)
    }
}

/// Takes a number out of a program's flags: by the contract, the runner says how often the program iterates.
fn take(flags: &mut Vec<String>, name: &str) -> anyhow::Result<Option<u64>> {
    let Some(at) = flags.iter().position(|flag| flag.split('=').next() == Some(name)) else {
        return Ok(None);
    };
    let flag = flags.remove(at);
    let value = match flag.split_once('=') {
        Some((_, value)) => value.to_owned(),
        None if at < flags.len() => flags.remove(at),
        None => String::new(),
    };
    let number = value.parse().map(Some);
    number.map_err(|_| BadUsage::new(format!("{name}: '{value}' is not a number")))
}
