//! The `hooks:` section as a list: the catalogue's own form and the nested one of Claude Code.

use std::time::Duration;

use petasos_contract::Settings;
use petasos_contract::hook::{HookKind, Moment, OnFailure};
use regex::Regex;
use serde_json::{Map, Value};

const TIMEOUT_MIN: u64 = 1;
const TIMEOUT_MAX: u64 = 300;

/// Claude Code's names for moments that we have.
const ALIASES: &[(&str, HookKind)] = &[
    ("PreToolUse", HookKind::PreToolCall),
    ("PostToolUse", HookKind::PostToolCall),
    ("UserPromptSubmit", HookKind::PreLlmCall),
    ("Stop", HookKind::PreVerify),
    ("SubagentStop", HookKind::SubagentStop),
    ("SessionStart", HookKind::OnSessionStart),
    ("SessionEnd", HookKind::OnSessionFinalize),
];

/// One configured hook.
#[derive(Debug, Clone)]
pub struct HookSpec {
    /// What logs and refusals call it.
    pub name: String,
    /// When it runs.
    pub event: HookKind,
    /// The event as it is written in the configuration; the hook reads it back.
    pub event_name: String,
    /// What runs, as it is written.
    pub command: String,
    /// Whether it is text for a shell, as Claude Code's are.
    pub in_shell: bool,
    /// Which tools it is for; all when absent.
    pub matcher: Option<Matcher>,
    /// How long it may take.
    pub timeout: Duration,
    /// What its failure means.
    pub on_failure: OnFailure,
}

/// Which tools a hook is for: the whole name must match.
#[derive(Debug, Clone)]
pub struct Matcher {
    /// As it is written.
    pub text: String,
    pattern: Option<Regex>,
}

impl Matcher {
    fn new(text: &str) -> Self {
        // What is no pattern means itself.
        Self { text: text.to_owned(), pattern: Regex::new(&format!("^(?:{text})$")).ok() }
    }

    /// Whether the tool is meant.
    pub fn matches(&self, tool: &str) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.is_match(tool),
            None => self.text == tool,
        }
    }
}

impl HookSpec {
    /// Whether the moment is about a tool that it is for.
    pub fn concerns(&self, moment: &Moment<'_>) -> bool {
        let Some(matcher) = &self.matcher else { return true };
        match moment {
            Moment::PreToolCall(about) | Moment::PostToolCall(about, _) => {
                matcher.matches(about.tool.as_str())
            }
            _ => true,
        }
    }
}

/// What the configuration says, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Listing {
    /// The hooks in order.
    pub hooks: Vec<HookSpec>,
    /// What was skipped, for people.
    pub problems: Vec<String>,
}

/// Reads the section.
pub fn listing(settings: &Settings) -> Listing {
    let mut listing = Listing::default();
    let Some(Value::Object(events)) = settings.get("hooks") else { return listing };
    for (event_name, entries) in events.iter().filter(|(name, _)| *name != "output_spill") {
        let Some(event) = event_of(event_name) else {
            listing.problems.push(unknown(event_name));
            continue;
        };
        let one = std::slice::from_ref(entries);
        for entry in entries.as_array().map_or(one, Vec::as_slice) {
            if let Err(problem) = add(&mut listing, event, event_name, entry) {
                listing.problems.push(format!("`hooks.{event_name}`: {problem}, skipped"));
            }
        }
    }
    listing
}

fn event_of(name: &str) -> Option<HookKind> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, kind)| *kind);
    HookKind::named(name).or(alias)
}

fn unknown(name: &str) -> String {
    let known = HookKind::ALL.iter().map(|kind| kind.as_str());
    let known = known.chain(ALIASES.iter().map(|(alias, _)| *alias));
    let nearest = known
        .map(|known| (strsim::normalized_levenshtein(known, name), known))
        .max_by(|left, right| left.0.total_cmp(&right.0));
    let hint = match nearest {
        Some((likeness, known)) if likeness > 0.5 => format!(": did you mean `{known}`?"),
        _ => ": `petasos hooks list --events` names them".to_owned(),
    };
    format!("unknown hook event `{name}`{hint} It is skipped")
}

fn add(
    listing: &mut Listing,
    event: HookKind,
    event_name: &str,
    entry: &Value,
) -> Result<(), String> {
    if let Value::String(command) = entry {
        listing.hooks.push(spec(event, event_name, command, &Map::new(), None)?);
        return Ok(());
    }
    let entry = entry.as_object().ok_or("an entry is a map with `command`")?;
    let matcher = entry.get("matcher").and_then(Value::as_str);
    let matcher = matcher.filter(|text| !text.is_empty() && *text != "*");
    if let Some(Value::Array(nested)) = entry.get("hooks") {
        for hook in nested {
            let hook = hook.as_object().ok_or("a nested hook is a map with `command`")?;
            if hook.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "command") {
                return Err("only hooks of `type: command` run".to_owned());
            }
            let command = command_of(hook)?;
            let mut made = spec(event, event_name, command, hook, matcher)?;
            made.in_shell = true;
            listing.hooks.push(made);
        }
        return Ok(());
    }
    listing.hooks.push(spec(event, event_name, command_of(entry)?, entry, matcher)?);
    Ok(())
}

fn command_of(entry: &Map<String, Value>) -> Result<&str, String> {
    let command = entry.get("command").and_then(Value::as_str).map(str::trim);
    command.filter(|command| !command.is_empty()).ok_or_else(|| "it has no `command`".to_owned())
}

fn spec(
    event: HookKind,
    event_name: &str,
    command: &str,
    entry: &Map<String, Value>,
    matcher: Option<&str>,
) -> Result<HookSpec, String> {
    let concerns_tools = matches!(event, HookKind::PreToolCall | HookKind::PostToolCall);
    let seconds = entry.get("timeout").and_then(Value::as_u64);
    let seconds = seconds.unwrap_or_else(|| event.deadline().as_secs());
    let usual = if event == HookKind::PreToolCall { OnFailure::Block } else { OnFailure::Pass };
    let on_failure = match entry.get("on_failure").and_then(Value::as_str) {
        None => usual,
        Some("block") => OnFailure::Block,
        Some("allow") => OnFailure::Pass,
        Some(other) => return Err(format!("`on_failure: {other}` is neither block nor allow")),
    };
    Ok(HookSpec {
        name: format!("shell:{command}"),
        event,
        event_name: event_name.to_owned(),
        command: command.to_owned(),
        in_shell: entry.get("shell") == Some(&Value::Bool(true)),
        matcher: matcher.filter(|_| concerns_tools).map(Matcher::new),
        timeout: Duration::from_secs(seconds.clamp(TIMEOUT_MIN, TIMEOUT_MAX)),
        on_failure,
    })
}
