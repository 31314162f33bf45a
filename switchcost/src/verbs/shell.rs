//! Help texts, `switchcost completions` and `switchcost man`, generated from the command line's definition.
//!
//! Paragraphs of a verb's text that begin with `Examples:` or `Exit status:` are sections of their own.

use std::io::{self, Write};
use std::path::Path;

use crate::render::layout;
use crate::system::console;
use crate::system::replace;
use anyhow::Context;
use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;

const EXAMPLES: &str = "Examples:";
const EXIT_STATUS: &str = "Exit status:";

/// Widest line of a help text.
const WIDEST: usize = 100;

/// The command line, with help texts that list the options by group. `long` ones also have examples and explain the
/// command and the values of its options.
pub(crate) fn with_help(command: Command, long: bool) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |verb| one_with_help(verb, long))
    });
    one_with_help(command, long).disable_help_subcommand(true)
}

fn one_with_help(command: Command, long: bool) -> Command {
    let mut head = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut foot = String::new();
    if long {
        foot = values(&command);
        let text = command.get_long_about().map(ToString::to_string).unwrap_or_default();
        // The first paragraph is the short text.
        for paragraph in text.split("\n\n").skip(1) {
            if let Some(examples) = paragraph.strip_prefix(EXAMPLES) {
                let lines: Vec<&str> = examples.split('`').skip(1).step_by(2).collect();
                head += &format!("\n\n{EXAMPLES}\n  {}", lines.join("\n  "));
            } else if paragraph.starts_with(EXIT_STATUS) {
                foot += paragraph;
            } else {
                head += &format!("\n\n{paragraph}");
            }
        }
    }
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    let help = help.help("Print help; -h is shorter").help_heading(None::<&str>);
    let command = command.disable_help_flag(true).arg(help);
    let template = "{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";
    command.help_template(template).before_help(head).after_help(foot.trim_end().to_owned())
}

/// Explains the values of options that need it.
fn values(command: &Command) -> String {
    let width = layout::width().min(WIDEST);
    let mut text = Vec::new();
    for option in command.get_arguments() {
        let values = option.get_possible_values();
        let is_known = match option.get_id().as_str() {
            "plan" => command.get_name() != "run",
            name => name == "format" || !values.iter().any(|value| value.get_help().is_some()),
        };
        if !is_known && !option.is_positional() {
            let _ = named(option, &values, width, &mut text);
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn named(
    option: &Arg,
    values: &[PossibleValue],
    width: usize,
    text: &mut Vec<u8>,
) -> io::Result<()> {
    let indent = 4 + values.iter().map(|value| value.get_name().len()).max().unwrap_or_default();
    writeln!(text, "--{}:", option.get_long().unwrap_or_default())?;
    for value in values {
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        layout::named(&format!("  {}", value.get_name()), &about, (indent, width), text)?;
    }
    writeln!(text)
}

pub(crate) fn completions(shell: Shell, mut command: Command) -> anyhow::Result<()> {
    console::print(|out| {
        clap_complete::generate(shell, &mut command, "switchcost", out);
        Ok(())
    })
    .context("cannot print the completions")
}

pub(crate) fn man(dir: Option<&Path>, command: Command) -> anyhow::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let Some(dir) = dir else {
        return console::print(|out| clap_mangen::Man::new(command).render(out))
            .context("cannot print the page");
    };
    let write = || -> anyhow::Result<()> {
        replace::folder(dir)?;
        for command in [&command].into_iter().chain(command.get_subcommands()) {
            let page = clap_mangen::Man::new(command.clone());
            let mut text = Vec::new();
            page.render(&mut text)?;
            replace::file(&dir.join(page.get_filename()), &text)?;
        }
        Ok(())
    };
    write().with_context(|| format!("cannot write pages into {}", dir.display()))
}
