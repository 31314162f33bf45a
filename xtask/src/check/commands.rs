//! Whether commands in documents name flags, plans and scripts that exist, and whether plans can be read.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::error::{ContextKind, ErrorKind};
use switchcost::cli;
use switchcost::plan::{BUILT_IN, Plan};

use super::{Part, parts};
use crate::{Fault, Page};

const RUNNER: &str = "switchcost";

/// Words behind which another command begins, or where output goes.
const ENDS: [&str; 9] = ["|", "||", "&&", "&", ";", ">", ">>", "<", ">&2"];

/// A command of a document.
struct Documented<'a> {
    page: &'a Page,
    line: usize,
    program: String,
    args: Vec<String>,
}

/// Plans in a page that cannot be read.
pub(crate) fn plans(page: &Page) -> Vec<Fault> {
    let blocks = parts(page).into_iter().filter_map(|(line, part)| match part {
        Part::Block(language, text) if language == "toml" => Some((line, text)),
        _ => None,
    });
    let faults = blocks.filter_map(|(line, text)| {
        let error = Plan::parse(&text).err()?;
        Some(page.fault(line, format!("this plan cannot be read: {error:#}")))
    });
    faults.collect()
}

/// Commands that would be refused.
pub(crate) fn commands(root: &Path, pages: &[Page]) -> anyhow::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let mut commands = Vec::new();
    // The history names what has gone.
    for page in pages.iter().filter(|page| page.path != "CHANGELOG.md") {
        for (line, words) in lines_of(page) {
            let scripts = words.iter().filter(|word| word.starts_with("scripts/"));
            let missing = scripts.filter(|script| !root.join(script).exists());
            faults.extend(missing.map(|script| page.fault(line, format!("there is no {script}"))));
            let all = commands_in(&words, root).into_iter();
            commands.extend(all.map(|(program, args)| Documented { page, line, program, args }));
        }
    }
    let (of_runner, mut others): (Vec<_>, Vec<_>) =
        commands.into_iter().partition(|command| command.program == RUNNER);
    for command in &of_runner {
        faults.extend(refusal(command, root).map(|what| command.page.fault(command.line, what)));
        others.extend(programs_of(command, root));
    }
    others.retain(|command| command.args.iter().any(|arg| arg.starts_with("--")));
    let folder = built(root, others.iter().map(|command| &*command.program).collect())?;
    for Documented { page, line, program, args } in &others {
        let args = args.iter().take_while(|arg| *arg != "--");
        let mut help = Command::new(folder.join(program));
        let help = help.args(args).arg("--help").stdin(Stdio::null()).output();
        let help = help.with_context(|| format!("cannot start {program}"))?;
        if !help.status.success() {
            let why = String::from_utf8_lossy(&help.stderr);
            let why = why.lines().next().unwrap_or_default();
            faults.push(page.fault(*line, format!("{program}: {why}")));
        }
    }
    Ok(faults)
}

/// Words of each line of code of a page.
fn lines_of(page: &Page) -> Vec<(usize, Vec<String>)> {
    let mut lines = Vec::new();
    for (first, part) in parts(page) {
        match part {
            Part::Code(code) => lines.push((first, code)),
            Part::Block(language, code) if ["sh", "console"].contains(&&*language) => {
                // A line that ends with a backslash goes on.
                let mut begun = String::new();
                for (number, line) in code.lines().enumerate() {
                    begun += line.trim_start_matches("$ ").trim_end_matches('\\');
                    if !line.ends_with('\\') {
                        lines.push((first + 1 + number, std::mem::take(&mut begun)));
                    }
                }
            }
            _ => {}
        }
    }
    let words = |code: &str| {
        let code = code.split(" #").next().unwrap_or_default();
        shlex::split(code).unwrap_or_else(|| code.split_whitespace().map(str::to_owned).collect())
    };
    lines.into_iter().map(|(line, code)| (line, words(&code))).collect()
}

/// Commands of a line: a program of this repository, and what follows it.
fn commands_in(words: &[String], root: &Path) -> Vec<(String, Vec<String>)> {
    let ends = |word: &String| ENDS.contains(&&**word);
    let commands = words.split(ends).filter_map(|words| {
        // `cargo run --release -- ARGS` is the runner.
        if words.starts_with(&["cargo".to_owned(), "run".to_owned()]) {
            let place = words.iter().position(|word| word == "--")?;
            let package = words[..place].iter().position(|word| word == "-p");
            let program = package.map_or(RUNNER, |package| &words[package + 1]);
            return Some((program.to_owned(), words[place + 1..].to_vec()));
        }
        let place = words.iter().position(|word| is_program(name(word), root))?;
        Some((name(&words[place]).to_owned(), words[place + 1..].to_vec()))
    });
    let clean = |word: &String| !word.contains('…') && word != "$@";
    commands
        .map(|(program, args)| {
            let args = args
                .iter()
                .filter(|word| clean(word))
                .map(|word| word.trim_end_matches(';').to_owned());
            (program, args.collect())
        })
        .collect()
}

/// Name of a program without its folders.
fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

fn is_program(name: &str, root: &Path) -> bool {
    let folders = ["", "more"];
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase());
    let is_in = |folder: &&str| root.join(folder).join(name).join("Cargo.toml").is_file();
    name == RUNNER || is_name && folders.iter().any(is_in)
}

/// What the runner would refuse.
fn refusal(command: &Documented<'_>, root: &Path) -> Option<String> {
    let mut plans =
        command.args.windows(2).filter(|pair| pair[0] == "--plan").map(|pair| &*pair[1]);
    let is_plan = |plan: &str| {
        is_blank(plan)
            || BUILT_IN.iter().any(|built_in| built_in.name == plan)
            || root.join(plan).is_file()
    };
    if let Some(plan) = plans.find(|plan| !is_plan(plan)) {
        return Some(format!("there is no plan {plan}"));
    }
    let words = [RUNNER.to_owned()].into_iter().chain(command.args.iter().cloned());
    let error = cli::command().try_get_matches_from(words).err()?;
    let quoted = [ContextKind::InvalidSubcommand, ContextKind::InvalidValue];
    let mut quoted = quoted.iter().filter_map(|kind| error.get(*kind)).map(ToString::to_string);
    let is_refused = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => false,
        _ => !quoted.any(|word| is_blank(&word)),
    };
    is_refused.then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// True of a word that stands for another, such as PID or $lib.
fn is_blank(word: &str) -> bool {
    word.contains('$') || (!word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase()))
}

/// Programs that a command of the runner names, with their flags.
fn programs_of<'a>(command: &Documented<'a>, root: &Path) -> Vec<Documented<'a>> {
    let quoted =
        command.args.iter().filter(|arg| arg.contains(' ')).filter_map(|arg| shlex::split(arg));
    let place = command.args.iter().position(|arg| is_program(name(arg), root));
    let trailing = place.map(|place| command.args[place..].to_vec());
    // `--plan waiting` and `--program thread-brigade` have flags of the runner behind them.
    let before = place.and_then(|place| command.args.get(place.checked_sub(1)?));
    let is_last = !before.is_some_and(|word| ["--plan", "--program"].contains(&&**word));
    let all = quoted.chain(trailing.filter(|_| is_last));
    all.filter(|words| words.first().is_some_and(|word| is_program(name(word), root)))
        .map(|words| Documented {
            page: command.page,
            line: command.line,
            program: name(&words[0]).to_owned(),
            args: words[1..].to_vec(),
        })
        .collect()
}

/// Builds programs beside this one, and gives their folder.
fn built(root: &Path, programs: BTreeSet<&str>) -> anyhow::Result<PathBuf> {
    let folder = env::current_exe()?.parent().context("this program has no folder")?.to_owned();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["build", "--quiet", "--locked", "--bins"]);
    cargo.args(folder.ends_with("release").then_some("--release"));
    programs.iter().for_each(|program| {
        cargo.args(["--package", program]);
    });
    ensure!(
        programs.is_empty() || cargo.status()?.success(),
        "cargo cannot build the programs of commands"
    );
    Ok(folder)
}
