//! `petasos docs`: prints the generated reference pages, from the code they describe.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{ArgMatches, Subcommand};
use petasos_agent::LOOP_TOOLS;
use petasos_approval::RULES;
use petasos_runtime::registry::DEFAULT_EMOJI;
use petasos_runtime::toolsets::{self, TOOLSETS};
use petasos_session::{CommandClass, CommandInfo, MidRun};
use petasos_tools::BUILTIN;
use serde_json::Value;

use crate::cli::program;
use crate::command::{Command, Session, actions, parse};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "docs",
    about: "Print a generated reference page",
    examples: &[],
    hidden: true,
    arguments: actions::<Page>,
    run,
};

#[derive(Debug, Subcommand)]
enum Page {
    /// The built-in tools
    Tools,
    /// The toolsets
    Toolsets,
    /// The commands
    Commands,
    /// The configuration keys and variables
    Config,
    /// The rules of approval
    Rules,
    /// The slash commands of conversations
    Slash,
    /// What editors must be told
    Editors,
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let page = match parse(matches)? {
        Page::Tools => tools(),
        Page::Toolsets => toolsets_page(session.host.get()?),
        Page::Commands => commands(),
        Page::Config => Ok(petasos_config::reference::markdown()),
        Page::Rules => rules(),
        Page::Slash => slash(),
        Page::Editors => Ok(petasos_acp::snippets::page()),
    };
    session.out.text(&page.map_err(|error| Report::new(error.to_string()))?);
    Ok(ExitCode::SUCCESS)
}

type Text = Result<String, std::fmt::Error>;

fn tools() -> Text {
    let how = "one tool is one file under `petasos-tools/src/builtin/` or, where it belongs to the \
               agent's own loop, `petasos-agent/src/loop_tools/`. The first example of each works \
               where everything that it needs is there; a test runs it";
    let mut page = heading("Built-in tools", how)?;
    let mut all = [BUILTIN, LOOP_TOOLS].concat();
    all.sort_by_key(|tool| tool.name);
    for tool in all {
        let schema = (tool.schema)();
        let emoji = if tool.emoji.is_empty() { DEFAULT_EMOJI } else { tool.emoji };
        writeln!(page, "\n## {emoji} `{}`\n", tool.name)?;
        writeln!(page, "Toolset `{}`{}.\n", tool.toolset, if tool.core { ", core" } else { "" })?;
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        writeln!(page, "{}\n", description.trim())?;
        parameters(&mut page, &schema)?;
        for example in tool.examples {
            writeln!(page, "\nExample ({}): `{}`", example.title, example.args)?;
        }
    }
    Ok(page)
}

fn parameters(page: &mut String, schema: &Value) -> std::fmt::Result {
    let Some(properties) = schema["parameters"]["properties"].as_object() else { return Ok(()) };
    let required = schema["parameters"]["required"].as_array();
    writeln!(page, "| parameter | type | required | meaning |\n|---|---|---|---|")?;
    for (name, property) in properties {
        let kind = property.get("type").map_or("any".to_owned(), |kind| match kind {
            Value::String(kind) => kind.clone(),
            other => other.to_string(),
        });
        let needed = required.is_some_and(|list| list.iter().any(|item| item == name));
        let needed = if needed { "yes" } else { "" };
        let meaning = property.get("description").and_then(Value::as_str).unwrap_or_default();
        writeln!(page, "| `{name}` | {kind} | {needed} | {} |", cell(meaning))?;
    }
    Ok(())
}

fn toolsets_page(host: &crate::host::Host) -> Text {
    let snapshot = host.catalogue().registry().snapshot();
    let mut page =
        heading("Toolsets", "`petasos toolsets resolve NAME` shows how one is resolved")?;
    writeln!(page, "\n| toolset | what it is | off by default | tools |\n|---|---|---|---|")?;
    for def in TOOLSETS {
        let tools = toolsets::resolve_toolset(def.name, &snapshot).tools;
        let tools = if def.kind == toolsets::Kind::Bundle {
            let mut extra = vec!["core".to_owned()];
            extra.extend(def.tools.iter().map(|tool| format!("`{tool}`")));
            extra.join(", ")
        } else {
            tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ")
        };
        let off = if def.default_off { "yes" } else { "" };
        writeln!(page, "| `{}` | {} | {off} | {tools} |", def.name, cell(def.description))?;
    }
    let core: Vec<String> = toolsets::CORE.iter().map(|tool| format!("`{tool}`")).collect();
    writeln!(page, "\nCore: {}.", core.join(", "))?;
    writeln!(page, "\nOlder names of tool lists, accepted wherever a toolset is named:\n")?;
    for (name, tools) in toolsets::LEGACY {
        let tools: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
        writeln!(page, "- `{name}`: {}", tools.join(", "))?;
    }
    Ok(page)
}

fn rules() -> Text {
    let how = "a rule is one file under `petasos-analysis/src/rules/`, its examples beside it are its tests";
    let mut page = heading("Rules of approval", how)?;
    for rule in RULES {
        let verdict = format!("{:?}", rule.severity).to_lowercase();
        writeln!(page, "\n## {}\n\n**{verdict}**: {}.", rule.key, rule.description)?;
        if !rule.aliases.is_empty() {
            writeln!(page, "\nAlso remembered as: {}.", rule.aliases.join(", "))?;
        }
        for (title, examples) in [
            ("Speaks about", rule.matches().collect::<Vec<_>>()),
            ("Says nothing about", rule.passes().collect()),
        ] {
            if !examples.is_empty() {
                writeln!(page, "\n{title}:\n")?;
            }
            for example in examples {
                writeln!(
                    page,
                    "    {}",
                    example.escape_default().to_string().replace("\\'", "'").replace("\\\"", "\"")
                )?;
            }
        }
    }
    Ok(page)
}

fn commands() -> Text {
    let mut page = heading("Commands", "every command also has `--help`")?;
    let mut program = program();
    program.build();
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        describe(&mut page, command, "petasos", 2)?;
    }
    Ok(page)
}

/// What is said about a slash command by whoever has it.
fn said_of(name: &str) -> Option<CommandInfo> {
    let plain = |(name, about): (&str, &str)| CommandInfo {
        name: name.to_owned(),
        aliases: Vec::new(),
        usage: String::new(),
        about: about.to_owned(),
    };
    let of_program = crate::extras::COMMANDS.iter().map(|(name, about, _)| plain((name, about)));
    let mut all = petasos_session::command::described()
        .into_iter()
        .chain(petasos_gateway::chat_commands())
        .chain(petasos_tui::described())
        .chain(of_program)
        .chain([plain(("start", "Say nothing: the first contact is recorded"))]);
    all.find(|info| info.name == name)
}

fn slash() -> Text {
    let how = "`/help` shows those that you may run. In a chat, everybody who may write runs the \
               first class, `user_allowed_commands` and administrators the second; skills are \
               called by their names. Three letters that begin one command and no other are enough";
    let mut page = heading("Slash commands", how)?;
    writeln!(page, "\n| command | does | who, in a chat | while a turn runs | where |")?;
    writeln!(page, "|---|---|---|---|---|")?;
    for row in petasos_session::command_table() {
        let Some(info) = said_of(row.name) else { continue };
        let who = match row.class {
            CommandClass::Everybody => "everybody",
            CommandClass::User => "those who are let",
            CommandClass::Admin => "administrators",
            CommandClass::Owner => "the owner",
        };
        let mid_run = match row.mid_run {
            MidRun::Now => "at once",
            MidRun::Ends => "ends it",
            MidRun::Busy => "says that it works",
        };
        let place = |sign| match sign {
            'c' => "terminal",
            'g' => "chats",
            _ => "editors",
        };
        let places: Vec<&str> = row.places.chars().map(place).collect();
        let (space, usage) = (if info.usage.is_empty() { "" } else { " " }, cell(&info.usage));
        let (name, about, places) = (row.name, cell(&info.about), places.join(", "));
        writeln!(page, "| `/{name}{space}{usage}` | {about} | {who} | {mid_run} | {places} |")?;
    }
    Ok(page)
}

/// One command and its subcommands; depth is bounded by the command tree itself.
fn describe(
    page: &mut String,
    command: &clap::Command,
    parent: &str,
    level: usize,
) -> std::fmt::Result {
    let name = format!("{parent} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(page, "\n{} `{name}`\n\n{about}.", "#".repeat(level))?;
    let global = ["json", "home", "set", "accept-hooks", "help", "version"];
    let arguments: Vec<_> = command
        .get_arguments()
        .filter(|argument| !global.contains(&argument.get_id().as_str()) && !argument.is_hide_set())
        .collect();
    if !arguments.is_empty() {
        writeln!(page, "\n| argument | meaning |\n|---|---|")?;
    }
    for argument in arguments {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(page, "| `{argument}` | {} |", cell(&help))?;
    }
    for inner in
        command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
    {
        describe(page, inner, &name, level + 1)?;
    }
    Ok(())
}

fn heading(title: &str, how: &str) -> Text {
    let mut page = String::new();
    writeln!(page, "# {title}\n\nGenerated from the code by `cargo xtask docs`; {how}.")?;
    Ok(page)
}

/// Text that fits in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s57_every_row_of_the_table_is_a_command_with_help_and_every_command_has_a_row() {
        for row in petasos_session::command_table() {
            let info = said_of(row.name);
            assert!(info.is_some_and(|it| !it.about.is_empty()), "/{} has no help", row.name);
            assert!(!row.places.is_empty(), "/{} is nowhere", row.name);
        }
        let all = petasos_gateway::chat_commands().into_iter().chain(petasos_tui::described());
        let names = all.map(|info| info.name);
        for name in names.chain(crate::extras::COMMANDS.iter().map(|it| it.0.to_owned())) {
            assert!(petasos_session::command_row(&name).is_some(), "/{name} is not in the table");
        }
    }
}
