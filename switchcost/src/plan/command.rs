//! Any command as a row: a command line becomes flags of the measured program `command`.

use std::collections::BTreeMap;

use anyhow::Context;
use record::Metric;

use super::change::Change;
use super::section::{RowTable, Section, Variant};
use super::sections::Plan;
use crate::system::console::{BadUsage, shell_line};

/// The measured program whose iterations are runs of a command.
pub const PROGRAM: &str = "command";

/// Stands between the commands of a duel.
const BETWEEN: &str = ":::";

/// Largest change of a command that counts as none, as a share.
pub const MARGIN: f64 = 0.01;

/// How a command is run. The verb has the words of the command as `words`.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Commands")]
pub struct CommandFlags {
    /// Command for `sh -c` before each run, untimed
    #[arg(long, value_name = "COMMAND", requires = "words")]
    prepare: Option<String>,

    /// Command for `sh -c` after each run, untimed
    #[arg(long, value_name = "COMMAND", requires = "words")]
    conclude: Option<String>,

    /// File that each run reads as its standard input [default: /dev/null]
    #[arg(long, value_name = "FILE", requires = "words")]
    input: Option<String>,

    /// Where the runs' standard output goes: `pipe` (it is read, summed up and thrown away) or a file, such as /dev/null
    /// [default: pipe]
    #[arg(long, value_name = "pipe|FILE", requires = "words")]
    output: Option<String>,

    /// Exit statuses that count as success, such as 0,1 [default: 0]
    #[arg(long, value_name = "STATUS", value_delimiter = ',', requires = "words")]
    exit: Vec<u8>,

    /// Have `sh -c` run each command as one line; its time is the command's, too
    #[arg(long, requires = "words")]
    shell: bool,
}

impl CommandFlags {
    /// A section with a row for the command, or for each pair of commands of a duel, without either of them.
    fn section(&self, words: &[String]) -> Section {
        let lines = self.lines(words);
        let mut flags = Vec::new();
        let names = match &lines[..] {
            [line] => {
                flags = vec!["--run".to_owned(), line.clone()];
                vec![line.clone()]
            }
            lines => names(lines.len() / 2),
        };
        let exit: Vec<String> = self.exit.iter().map(u8::to_string).collect();
        let exit = Some(exit.join(",")).filter(|exit| !exit.is_empty());
        let values = [
            ("--prepare", self.prepare.clone()),
            ("--conclude", self.conclude.clone()),
            ("--input", self.input.clone()),
            ("--output", self.output.clone()),
            ("--exit", exit),
        ];
        for (flag, value) in values {
            flags.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        flags.extend(self.shell.then(|| "--shell".to_owned()));
        let program = Some(PROGRAM.to_owned());
        let variants = names.into_iter().map(|name| Variant {
            name,
            program: program.clone(),
            flags: flags.clone(),
            ..Variant::default()
        });
        let (iters, warmup) = (Some(1), Some(0));
        let rows =
            variants.map(|variant| RowTable { variant, iters, warmup, ..RowTable::default() });
        let (title, metric) = ("Runs of commands".to_owned(), Metric::Iteration);
        Section { title, metric, rows: rows.collect(), counters: true, ..Section::default() }
    }

    /// A plan with a row for the command, or for each pair of commands of a duel, without either of them.
    pub fn plan(&self, words: &[String]) -> Plan {
        let mut section = self.section(words);
        section.fill();
        Plan { sections: vec![section], ..Plan::default() }
    }

    /// The row of the only command.
    ///
    /// # Errors
    /// When there are several.
    pub fn row(&self, words: &[String]) -> anyhow::Result<RowTable> {
        if commands(words).len() > 1 {
            let why = "stands between the commands of `switchcost duel`: name one command";
            return Err(BadUsage::new(format!("{BETWEEN} {why}")));
        }
        self.section(words).rows.pop().context("name a command")
    }

    /// Both commands of each row of a duel, as changes of the row.
    ///
    /// # Errors
    /// When a command lacks its counterpart.
    pub fn sides(&self, words: &[String]) -> anyhow::Result<BTreeMap<String, [Change; 2]>> {
        let lines = self.lines(words);
        let (pairs, rest) = lines.as_chunks();
        if pairs.is_empty() || !rest.is_empty() {
            let count = lines.len();
            return Err(BadUsage::new(format!(
                "a duel has two commands, or pairs of them, and not {count}: -- ./old ARGS {BETWEEN} ./new ARGS"
            )));
        }
        let changes = pairs
            .iter()
            .map(|pair: &[String; 2]| pair.each_ref().map(|line| Change::of_command(line)));
        Ok(names(pairs.len()).into_iter().zip(changes).collect())
    }

    /// True if a shell runs the commands.
    pub fn has_shell(&self) -> bool {
        self.shell
    }

    /// Each command as a line.
    fn lines(&self, words: &[String]) -> Vec<String> {
        let line = |words: &[String]| if self.shell { words.join(" ") } else { shell_line(words) };
        commands(words).into_iter().map(line).collect()
    }
}

/// Names of the rows of so many pairs, in their order.
fn names(pairs: usize) -> Vec<String> {
    match pairs {
        1 => vec!["a run".to_owned()],
        _ => (1..=pairs).map(|pair| format!("pair {pair}")).collect(),
    }
}

/// Words of each command.
pub fn commands(words: &[String]) -> Vec<&[String]> {
    words.split(|word| word == BETWEEN).collect()
}
