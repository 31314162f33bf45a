//! Whether the commands in documents name flags and plans that exist, whether programs and scripts take theirs, and whether
//! plans can be read.

use std::path::Path;
use std::process::Command;

use clap::error::{ContextKind, ErrorKind};
use switchcost::cli;
use switchcost::plan::{BUILT_IN, Plan};

use super::{Part, parts};
use crate::{Fault, Page};

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
            let refused = commands_in(&words).into_iter().filter_map(|args| refusal(args, root));
            faults.extend(refused.map(|what| page.fault(line, what)));
            faults.extend(failure(&words, root).map(|what| page.fault(line, what)));
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

/// Arguments of each command of the runner in a line.
fn commands_in(words: &[String]) -> Vec<Vec<String>> {
    let ends = |word: &String| ENDS.contains(&&**word);
    let commands = words.split(ends).filter_map(|words| {
        // `cargo run --release -- ARGS` is the runner.
        let is_cargo_run = words.starts_with(&["cargo".to_owned(), "run".to_owned()]);
        let place = if is_cargo_run {
            words.iter().position(|word| word == "--")?
        } else {
            words.iter().position(|word| word.rsplit('/').next() == Some(RUNNER))?
        };
        let is_other = is_cargo_run && words[..place].iter().any(|word| word == "-p");
        (!is_other).then(|| &words[place + 1..])
    });
    let is_known = |word: &&String| !word.contains('…') && *word != "$@";
    let args = |words: &[String]| -> Vec<String> {
        let words = words.iter().filter(is_known);
        words.map(|word| word.trim_end_matches(';').to_owned()).collect()
    };
    commands.map(args).collect()
}

/// Why a line's program or script does not take its flags, which a run of it tells that measures nothing.
fn failure(words: &[String], root: &Path) -> Option<String> {
    // A form that shows what is left out, and examples of Cargo, cannot be run like that.
    if words.iter().any(|word| word.starts_with('[') || word == "--example") {
        return None;
    }
    let place = |name: &str| words.iter().position(|word| word == name);
    let flags = |begin: usize| words[begin..].iter().take_while(|word| !ENDS.contains(&&***word));
    let script =
        words.iter().position(|word| word.starts_with("scripts/") && word.ends_with(".sh"));
    let mut command = if let Some(script) = script {
        let mut command = Command::new(root.join(&words[script]));
        command.args(flags(script + 1)).arg("--help");
        command
    } else {
        let package = words.get(place("-p").filter(|_| place("cargo") < place("run"))? + 1)?;
        let mut command = Command::new("cargo");
        command.args(["run", "--quiet", "--locked", "--package", package, "--"]);
        command.args(place("--").map(|end| flags(end + 1)).into_iter().flatten());
        // xtask is no measured program.
        command.arg(if package == "xtask" { "--help" } else { "--describe" });
        command
    };
    match command.current_dir(root).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Some(said.lines().next().unwrap_or("it fails and says nothing").to_owned())
        }
        Err(error) => Some(error.to_string()),
    }
}

/// What the runner would refuse.
fn refusal(args: Vec<String>, root: &Path) -> Option<String> {
    let mut plans = args.windows(2).filter(|pair| pair[0] == "--plan").map(|pair| &*pair[1]);
    let is_plan = |plan: &str| {
        is_blank(plan)
            || BUILT_IN.iter().any(|built_in| built_in.name == plan)
            || root.join(plan).is_file()
    };
    if let Some(plan) = plans.find(|plan| !is_plan(plan)) {
        return Some(format!("there is no plan {plan}"));
    }
    let words = [RUNNER.to_owned()].into_iter().chain(args);
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
