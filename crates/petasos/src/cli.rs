//! From words to a command.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command as Words};
use petasos_approval::own_program;
use petasos_config::Inputs;

use crate::command::{Command, LazyHost, Session};
use crate::commands::COMMANDS;
use crate::out::{Out, Reader};
use crate::report::Report;

const USAGE_LINES: &str = "petasos [OPTIONS] [PROMPT]\n       petasos [OPTIONS] COMMAND …";

const EXAMPLES: &str = "Examples:
  petasos                            start a chat
  petasos \"what changed today?\"      start a chat with a first message
  petasos -c                         continue the last conversation of this folder
  petasos -m MODEL --plan            another model, and nothing is changed until you say /go
  petasos run \"list the TODOs\"       print one answer and exit
  petasos setup                      choose a provider and a model
  petasos doctor                     check that everything works";

/// The page of the whole program; the commands stand in groups.
const TEMPLATE: &str =
    "{about}\n\n{usage-heading} {usage}\n\n{commands}{chat}Options:\n{options}{after-help}";

/// The commands by what people want of them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Talk", &["chat", "run", "sessions", "rollback"]),
    (
        "Set up",
        &["setup", "doctor", "model", "models", "auth", "provider", "config", "import", "demo"],
    ),
    (
        "Decide what it may do",
        &["approval", "tools", "toolsets", "hooks", "backend", "stop", "resume"],
    ),
    ("Extend it", &["mcp", "skills", "curator", "plugins", "browser"]),
    ("Reach it from elsewhere", &["gateway", "serve", "webhook", "cron", "kanban", "acp"]),
    (
        "Look after it",
        &["logs", "ps", "kill", "term", "update", "version", "help", "completions", "man"],
    ),
];

/// Flags that every command takes stand behind its own.
const EVERYWHERE: &str = "Global options";
/// A word of at most so many letters is near to many others.
const SHORT: usize = 4;

/// Flags of a conversation, which needs no command.
const CHAT: &str = "Chat options";

/// Bad usage, as scripts know it.
const USAGE: u8 = 2;

/// Runs the program.
pub fn run(words: impl IntoIterator<Item = OsString>, mut inputs: Inputs) -> ExitCode {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if let Some(at) = conversation_at(&words, terminal) {
        words.insert(at, if terminal { "chat" } else { "run" }.into());
    }
    let mut program = asked_for(&words).map_or_else(program, |command| grammar(&[command]));
    let given = words.clone();
    let matches = program.try_get_matches_from_mut(words);
    // It ends with the program; taking it apart is work that every start would pay for.
    std::mem::forget(program);
    let matches = match matches {
        Ok(matches) => matches,
        Err(error) => return explain_usage(&error, &given),
    };
    let loosened = loosened(&given, &inputs);
    let reader = if matches.get_flag("json") { Reader::Script } else { Reader::Person };
    let colour = !inputs.environment.contains_key("NO_COLOR")
        && inputs.environment.get("TERM").is_none_or(|term| term != "dumb");
    let out = Out::new(reader, colour);
    if let Some(report) = loosened {
        out.report(&report);
        return ExitCode::FAILURE;
    }
    if let Err(report) = take_overrides(&matches, &mut inputs) {
        out.report(&report);
        return ExitCode::from(USAGE);
    }
    let mut session = Session { out, host: LazyHost::new(inputs) };
    let Some((name, arguments)) = matches.subcommand() else { return ExitCode::from(USAGE) };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return ExitCode::from(USAGE);
    };
    match (command.run)(arguments, &mut session) {
        Ok(code) => code,
        Err(report) => {
            out.report(&report);
            ExitCode::from(report.exit())
        }
    }
}

/// Why a program that was started by a command of a session refuses its words or variables: they
/// would change what that session asks about.
fn loosened(words: &[OsString], inputs: &Inputs) -> Option<Report> {
    if !petasos_terminal::is_supervised() {
        return None;
    }
    let words: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let variable = || {
        let mut all = inputs.environment.iter();
        all.find(|(name, value)| own_program::loosens(name, value)).map(|(name, _)| name.clone())
    };
    // An agent that we start as a subagent serves us; commands that start one are asked about.
    let change = own_program::change(&words).filter(|change| change != "acp");
    let what = change.or_else(variable)?;
    let refused = format!("`{what}` is not available to a command that an agent runs");
    let hint = "run it yourself in a terminal of your own";
    Some(Report::new(refused).code("supervised").hint(hint))
}

/// The command that these words begin with, if it is one: then the grammar needs no other, and a
/// start does not pay for them. Anything else is judged by the whole grammar.
fn asked_for(words: &[OsString]) -> Option<&'static Command> {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--home" | "--set" => _ = words.next()?,
            "--" => return None,
            flag if flag.starts_with('-') => {}
            name => return COMMANDS.iter().find(|command| command.name == name).copied(),
        }
    }
    None
}

/// Flags that only a conversation has: `petasos -c` is `petasos chat -c`.
const CONVERSATION_FLAGS: &[&str] = &[
    "-c",
    "--continue",
    "-r",
    "--resume",
    "-m",
    "--model",
    "--provider",
    "-t",
    "--toolsets",
    "--max-turns",
    "--yolo",
    "--plan",
];

/// Where the name of a command is missing because the words are a conversation of their own:
/// nothing at all at a terminal, flags of a conversation, or a prompt, which unlike a command has
/// blanks in it.
fn conversation_at(words: &[OsString], terminal: bool) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let word = word.to_str()?;
        let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
        match flag {
            "--home" | "--set" => at += if flag.len() == word.len() { 2 } else { 1 },
            "--json" | "--accept-hooks" => at += 1,
            flag if CONVERSATION_FLAGS.contains(&flag) => return Some(at),
            _ => return word.contains(char::is_whitespace).then_some(at),
        }
    }
    (terminal && at == words.len()).then_some(at)
}

/// The whole command line.
pub fn program() -> Words {
    grammar(COMMANDS)
}

/// The whole command line as it is told to shells and manuals: a conversation needs no command, so
/// its flags are flags of the program.
pub fn described() -> Words {
    program().args(conversation_flags())
}

fn conversation_flags() -> Vec<Arg> {
    let chat = COMMANDS.iter().find(|command| command.name == "chat");
    let chat = chat.map(|chat| (chat.arguments)(Words::new(chat.name))).unwrap_or_default();
    let flags = chat.get_arguments().filter(|flag| !flag.is_positional());
    flags.map(|flag| flag.clone().help_heading(CHAT)).collect()
}

/// The flags of a conversation, as the page of the program shows them.
fn conversation_page() -> String {
    let flags = conversation_flags();
    let mut page =
        Words::new("chat").disable_help_flag(true).help_template("{options}").args(flags);
    format!("{CHAT}:\n{}\n\n", page.render_help().to_string().trim_end())
}

/// The commands of a page, under their headings.
fn grouped(commands: &[&'static Command]) -> String {
    let shown = |name: &&str| {
        let found = commands.iter().find(|command| command.name == *name && !command.hidden)?;
        Some(format!("  {:12} {}\n", found.name, found.about))
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines: String = names.iter().filter_map(shown).collect();
        if lines.is_empty() { String::new() } else { format!("{title}:\n{lines}\n") }
    };
    GROUPS.iter().map(group).collect()
}

/// The command line with these commands; the arguments of a command are built when it is the one
/// asked for.
fn grammar(commands: &[&'static Command]) -> Words {
    // Only a line without a command is answered with this page.
    let chat = if commands.len() > 1 { conversation_page() } else { String::new() };
    let page = TEMPLATE.replace("{commands}", &grouped(commands)).replace("{chat}", &chat);
    let mut program = Words::new("petasos")
        .version(env!("CARGO_PKG_VERSION"))
        .about("An AI agent for your terminal, editor and chats")
        .override_usage(USAGE_LINES)
        .after_help(EXAMPLES)
        .help_template(page)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .arg(
            Arg::new("json")
                .long("json")
                .global(true)
                .help_heading(EVERYWHERE)
                .action(ArgAction::SetTrue)
                .help("Print JSON for scripts"),
        )
        .arg(
            Arg::new("home")
                .long("home")
                .global(true)
                .help_heading(EVERYWHERE)
                .value_name("DIR")
                .help("Use this agent home instead of PETASOS_HOME or ~/.petasos"),
        )
        .arg(
            Arg::new("set")
                .long("set")
                .global(true)
                .help_heading(EVERYWHERE)
                .value_name("KEY=VALUE")
                .action(ArgAction::Append)
                .help("Override one configuration value for this run"),
        )
        .arg(
            Arg::new("accept-hooks")
                .long("accept-hooks")
                .global(true)
                .help_heading(EVERYWHERE)
                .action(ArgAction::SetTrue)
                .help("Run the configured shell hooks without asking about new ones"),
        );
    for command in commands {
        let subcommand = Words::new(command.name)
            .about(command.about)
            .hide(command.hidden)
            .after_help(command.examples_page());
        program = program.subcommand(subcommand.defer(command.arguments));
    }
    program
}

fn take_overrides(matches: &clap::ArgMatches, inputs: &mut Inputs) -> Result<(), Report> {
    if let Some(home) = matches.get_one::<String>("home") {
        inputs.environment.insert("PETASOS_HOME".to_owned(), home.clone());
    }
    if matches.get_flag("accept-hooks") {
        let accepted = std::mem::take(inputs);
        *inputs = accepted.with_override("hooks_auto_accept", "true", "--accept-hooks");
    }
    for pair in matches.get_many::<String>("set").into_iter().flatten() {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Report::usage(format!("`--set {pair}` is not KEY=VALUE"))
                .hint("for example `--set approvals.mode=manual`"));
        };
        *inputs = std::mem::take(inputs).with_override(key, value, &format!("--set {pair}"));
    }
    Ok(())
}

/// Help and version go to standard output and are no error.
fn explain_usage(error: &clap::Error, words: &[OsString]) -> ExitCode {
    // The flag counts also in a line that cannot be read.
    let scripted = words.iter().skip(1).take_while(|word| *word != "--").any(|it| it == "--json");
    let out = Out::new(if scripted { Reader::Script } else { Reader::Person }, false);
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && COMMANDS.iter().all(|command| words.iter().all(|given| given != command.name))
    {
        out.report(&advise(word, words));
        return ExitCode::from(USAGE);
    }
    let prompts = words.iter().any(|word| word == "run" || word == "chat");
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg)
        && prompts
        && !word.starts_with('-')
    {
        let report = Report::usage(format!("`{word}` is one word too many"));
        let hint = "a prompt of several words needs quotes: `petasos run \"…\"`";
        out.report(&report.hint(hint));
        return ExitCode::from(USAGE);
    }
    if error.kind() == ErrorKind::UnknownArgument
        && error.get(ContextKind::SuggestedArg).is_none()
        && let Some(report) = unquoted(words)
    {
        out.report(&report);
        return ExitCode::from(USAGE);
    }
    if scripted && error.use_stderr() {
        out.report(&misused(error));
        return ExitCode::from(USAGE);
    }
    // Printing help to a closed pipe is no error of ours.
    error.print().unwrap_or_default();
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}

/// What the grammar says about a line, in the shape of every other error.
fn misused(error: &clap::Error) -> Report {
    let page = error.render().to_string();
    let said = page.split("\n\nUsage:").next().unwrap_or_default().trim();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let (what, more) = said.split_once("\n\n").unwrap_or((said, ""));
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hint = more.trim().trim_start_matches("tip: ");
    let report = Report::usage(one_line(what));
    if hint.is_empty() {
        report.hint("`--help` shows how it is used")
    } else {
        report.hint(one_line(hint))
    }
}

/// Flags of ours behind a shell command.
const OURS: &[&str] = &["--json", "--exact", "--path", "--key", "--tool", "--project", "--hours"];

/// What to say of a shell command that was given to us word by word.
fn unquoted(words: &[OsString]) -> Option<Report> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let at = words.iter().position(|word| word == "approval")? + 1;
    let action = words.get(at).filter(|it| ["check", "explain", "grant"].contains(&&***it))?;
    let behind = words.get(at + 1..)?.iter().map(AsRef::as_ref);
    let behind = behind.skip_while(|word: &&str| word.starts_with('-'));
    let command: Vec<&str> = behind.take_while(|word| !OURS.contains(word)).collect();
    // One that has its quotes is not what is wrong.
    let first = command.first().filter(|first| !first.contains(char::is_whitespace))?;
    let report = Report::usage(format!("the command that begins with `{first}` needs quotes"));
    Some(report.hint(format!("petasos approval {action} '{}'", command.join(" "))))
}

/// What people call some commands.
const MEANT: &[(&str, &str)] = &[
    ("settings", "config"),
    ("login", "auth"),
    ("history", "sessions"),
    ("providers", "provider"),
    ("approvals", "approval"),
];

/// A word that is no command may be misspelt, or the beginning of a prompt without quotes.
fn advise(word: &str, words: &[OsString]) -> Report {
    let prompt: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let alone = prompt.len() == 1;
    let near = COMMANDS
        .iter()
        .filter(|command| !command.hidden)
        .map(|command| (strsim::osa_distance(word, command.name), command.name))
        .filter(|(distance, name)| {
            // Several words are rather a prompt, unless a long one is almost a command.
            let most = match (alone, word.len() > SHORT) {
                (true, _) => 2,
                (false, long) => usize::from(long),
            };
            *distance <= most && *distance < name.len().min(word.len())
        })
        .min();
    let meant = MEANT.iter().find(|(said, _)| *said == word && alone);
    let near = meant.map(|(_, name)| (0, *name)).or(near);
    let hint = match near {
        Some((_, name)) if alone => {
            format!("did you mean `petasos {name}`? `petasos help` lists all")
        }
        None if alone => format!(
            "`petasos help` lists the commands; to ask the agent: `petasos chat \"{word}\"`"
        ),
        Some((_, name)) => {
            let rest = prompt.get(1..).unwrap_or_default().join(" ");
            let prompt = prompt.join(" ");
            format!(
                "did you mean `petasos {name} {rest}`? A prompt needs quotes: `petasos \"{prompt}\"`"
            )
        }
        None => format!("a prompt needs quotes: `petasos \"{}\"`", prompt.join(" ")),
    };
    Report::usage(format!("`{word}` is not a command")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        for command in COMMANDS.iter().filter(|command| !command.hidden) {
            let places = grouped.iter().filter(|name| **name == command.name).count();
            assert_eq!(places, 1, "{}", command.name);
        }
        assert!(grouped.iter().all(|name| COMMANDS.iter().any(|it| it.name == *name)));
    }

    /// The words of a line, as a shell reads them up to a pipe or a file.
    fn typed(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for sign in line.split("petasos ").skip(1).collect::<Vec<_>>().join("petasos ").chars() {
            match (sign, quote) {
                ('\'' | '"', None) => quote = Some(sign),
                (sign, Some(open)) if sign == open => quote = None,
                ('|' | '>' | '<', None) => break,
                (' ', None) => words.push(std::mem::take(&mut word)),
                (sign, _) => word.push(sign),
            }
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_command_has_examples_that_can_be_typed() {
        for command in COMMANDS.iter().filter(|command| !command.hidden) {
            assert!(!command.examples.is_empty(), "{} has no example", command.name);
            let page = command.examples_page();
            let wide = page.lines().find(|row| row.chars().count() > 100);
            assert_eq!(wide, None, "{} has an example that wraps", command.name);
            for (line, does) in command.examples {
                let words: Vec<String> = typed(&format!("{line} "));
                assert!(line.contains(&format!("petasos {}", command.name)), "{line}");
                let words = [vec!["petasos".to_owned()], words].concat();
                let read = program().try_get_matches_from(&words);
                let fine = match &read {
                    Ok(_) => true,
                    Err(error) => error.kind() == ErrorKind::DisplayHelp,
                };
                assert!(
                    fine,
                    "{line} ({does}): {}",
                    read.err().map(|it| it.to_string()).unwrap_or_default()
                );
            }
        }
    }

    /// Pages are sentences about what a command does, and say nothing about our types.
    #[test]
    fn every_page_begins_with_what_the_command_does() {
        fn walk(command: &mut Words, path: &str) {
            let page = command.render_long_help().to_string();
            let first = page.lines().next().unwrap_or_default();
            assert!(
                !first.starts_with("Arguments of") && !first.starts_with("Usage"),
                "{path}: {first}"
            );
            assert!(!first.trim().is_empty() && !first.ends_with('.'), "{path}: {first}");
            let names: Vec<String> =
                command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
            for name in names {
                let below = command.find_subcommand_mut(&name);
                if let Some(below) = below {
                    walk(below, &format!("{path} {name}"));
                }
            }
        }
        let mut program = program();
        program.build();
        walk(&mut program, "petasos");
    }

    #[test]
    fn shells_and_manuals_know_the_flags_of_a_conversation() {
        let described = described();
        for flag in ["continue", "resume", "model", "yolo", "plan"] {
            assert!(described.get_arguments().any(|it| it.get_long() == Some(flag)), "{flag}");
        }
        let page = program().render_long_help().to_string();
        assert!(page.contains("Chat options:") && page.contains("-c, --continue"), "{page}");
    }

    #[test]
    fn a_conversation_needs_no_command() {
        let at = |line: &[&str], terminal: bool| {
            let words: Vec<OsString> =
                [&["petasos"], line].concat().into_iter().map(OsString::from).collect();
            conversation_at(&words, terminal)
        };
        for (line, expected) in [
            (&["-c"][..], Some(1)),
            (&["--resume=abc"], Some(1)),
            (&["--home", "/x", "-m", "large"], Some(3)),
            (&["fix the tests"], Some(1)),
            (&["--json", "fix the tests"], Some(2)),
            (&["--yolo", "go on"], Some(1)),
            (&["rnu"], None),
            (&["run", "-c"], None),
            (&["--help"], None),
            (&["--version"], None),
        ] {
            assert_eq!(at(line, false), expected, "{line:?}");
            assert_eq!(at(line, true), expected, "{line:?}");
        }
        assert_eq!(at(&[], true), Some(1));
        assert_eq!(at(&[], false), None);
        assert_eq!(at(&["--set", "a=b"], true), Some(3));
    }
}
