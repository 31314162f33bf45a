//! Whether the commands in documents name flags and plans that exist, whether programs and scripts take theirs, and whether
//! plans can be read.

use std::path::Path;
use std::process::Command;

use clap::error::{ContextKind, ErrorKind};
use switchcost::cli;
use switchcost::plan::{BUILT_IN, Plan};

use super::{Part, parts};
use crate::page::{Fault, Page};

const RUNNER: &str = "switchcost";

/// Words behind which another command begins, or where output goes.
const ENDS: [&str; 9] = ["|", "||", "&&", "&", ";", ">", ">>", "<", ">&2"];

/// Plans in a page that cannot be read.
pub(crate) fn plans(page: &Page) -> Vec<Fault> {
    let blocks = parts(page).into_iter().filter_map(|(range, part)| match part {
        Part::Block(language, text) if language == "toml" => Some((page.line(range.start), text)),
        _ => None,
    });
    let faults = blocks.filter_map(|(line, text)| {
        let error = Plan::parse(&text).err()?;
        Some(page.fault(line, format!("this plan cannot be read: {error:#}")))
    });
    faults.collect()
}

/// Scripts that do not exist, and commands that the runner would refuse.
pub(crate) fn commands(root: &Path, pages: &[Page]) -> Vec<Fault> {
    let mut faults = Vec::new();
    // The history names what has gone.
    for page in pages.iter().filter(|page| page.path != "CHANGELOG.md") {
        for (line, words) in lines_of(page) {
            let scripts = words.iter().filter(|word| word.starts_with("scripts/"));
            let missing = scripts.filter(|script| !root.join(script).exists());
            faults.extend(missing.map(|script| page.fault(line, format!("there is no {script}"))));
            let commands = words.split(|word| ENDS.contains(&&**word));
            let wrong = commands.filter_map(|words| fault_of(words, root));
            faults.extend(wrong.map(|what| page.fault(line, what)));
        }
    }
    faults
}

/// Words of each line of code of a page.
fn lines_of(page: &Page) -> Vec<(usize, Vec<String>)> {
    let mut lines = Vec::new();
    for (range, part) in parts(page) {
        let first = page.line(range.start);
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

/// What is wrong with a command: what the runner would refuse, or why another program or a script does not take its flags.
fn fault_of(words: &[String], root: &Path) -> Option<String> {
    // A form that shows what may be left out, and examples of Cargo, cannot be run.
    let is_form = words.iter().any(|word| word.starts_with('[') || word == "--example");
    if let Some(place) = words.windows(2).position(|pair| pair == ["cargo", "run"]) {
        let mut parts = words[place + 2..].splitn(2, |word| word == "--");
        let (of_cargo, args) = (parts.next()?, parts.next().unwrap_or_default());
        let Some(place) = of_cargo.iter().position(|word| word == "-p") else {
            return refusal(args, root);
        };
        let package = of_cargo.get(place + 1).filter(|_| !is_form)?;
        let mut command = Command::new("cargo");
        command.args(["run", "--quiet", "--locked", "--package", package, "--"]).args(args);
        // Nothing is measured; xtask is no measured program.
        command.arg(if package == "xtask" { "--help" } else { "--describe" });
        return failure(command.current_dir(root));
    }
    if let Some(script) = words.first().filter(|word| word.starts_with("scripts/")) {
        let can_run = script.ends_with(".sh") && !is_form;
        let mut command = Command::new(root.join(script));
        return can_run.then(|| failure(command.args(&words[1..]).arg("--help")))?;
    }
    let place = words.iter().position(|word| word.rsplit('/').next() == Some(RUNNER))?;
    refusal(&words[place + 1..], root)
}

/// The first line that a command says on standard error, if it fails.
fn failure(command: &mut Command) -> Option<String> {
    match command.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Some(said.lines().next().unwrap_or("it fails and says nothing").to_owned())
        }
        Err(error) => Some(error.to_string()),
    }
}

/// What the runner would refuse.
fn refusal(args: &[String], root: &Path) -> Option<String> {
    let known = args.iter().filter(|word| !word.contains('…') && *word != "$@");
    let args: Vec<&str> = known.map(|word| word.trim_end_matches(';')).collect();
    let mut plans = args.windows(2).filter(|pair| pair[0] == "--plan").map(|pair| pair[1]);
    let is_plan = |plan: &str| {
        is_blank(plan)
            || BUILT_IN.iter().any(|built_in| built_in.name == plan)
            || root.join(plan).is_file()
    };
    if let Some(plan) = plans.find(|plan| !is_plan(plan)) {
        return Some(format!("there is no plan {plan}"));
    }
    let words = [RUNNER].into_iter().chain(args.iter().copied());
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
