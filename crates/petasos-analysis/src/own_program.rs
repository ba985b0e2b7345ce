//! Our own program as a command: what it runs for its caller, and which of its uses change or get
//! round the rules that the caller is under.
//!
//! The analysis asks here about a command line, and the program itself asks again when it starts
//! below one of its own supervisors, so that what is judged is what is refused.

use serde_json::Value;

use crate::code::Language;
use crate::effects::Found;
use crate::flow::call::Call;
use crate::flow::report::Deed;
use crate::flow::value::Arg;
use crate::words::{begins, lists};
use crate::wrapper::{Inner, Inners, Wrapper};

/// The names the program goes by.
pub(crate) const NAMES: [&str; 2] = ["petasos", "hermes"];
pub(crate) const CALLED: &str = "petasos hermes";

pub(crate) static WRAPPER: Wrapper = Wrapper { rows: &[], names: CALLED, unwrap };

/// Options in front of a command that take the next word.
const VALUES: &str = "--home --set --profile -p";

/// Options that change what is asked about, wherever they stand.
const LOOSENING: &str = "--set --home --accept-hooks --yolo --profile -p";

/// Actions that write settings, consents, credentials or records. No action means all of them.
const CHANGES: &[(&str, &str)] = &[
    // Whoever drives an editor's server answers its questions.
    ("acp", ""),
    ("approval", "answer grant revoke allow narrow"),
    ("approvals", "answer grant revoke allow narrow"),
    ("auth", "login logout reset add remove"),
    ("config", "set unset edit migrate"),
    ("cron", "add create edit update remove delete run resume import daemon"),
    ("gateway", "install uninstall pair reload outbox stop restart run"),
    ("hooks", "approve revoke test"),
    ("import", ""),
    ("kanban", "dispatch"),
    ("login", ""),
    ("logout", ""),
    ("mcp", "add import remove login"),
    ("memory", "reset clear set"),
    ("model", "set"),
    ("pairing", "approve revoke clear-pending"),
    ("plugins", "install enable disable update remove run"),
    ("profile", "create use delete import rename"),
    ("provider", "set"),
    ("resume", ""),
    ("rollback", "restore"),
    ("secrets", "set unset"),
    // Whoever has a token answers what runs ask.
    ("serve", ""),
    ("sessions", "delete prune repair import"),
    ("setup", ""),
    ("skills", "install uninstall update trust allow-env approve unpin"),
    ("tools", "enable disable"),
];

/// Variables, without their prefix, that loosen what the program asks about.
const VARIABLES: &str = "YOLO_MODE ACCEPT_HOOKS BUNDLED_PLUGINS ENABLE_PROJECT_PLUGINS REDACT_SECRETS WRITE_SAFE_ROOT \
    DISABLE_FILE_STATE_GUARD";

/// Variables, without their prefix, that put another home in the place of ours.
const HOMES: &str = "HOME PROFILE";

/// Settings by which a program of any name shows that it is ours.
const SETTINGS: &str = "approvals. security. permissions. terminal. delegation. hooks command_allowlist \
    mcp_servers";

/// A command line of ours, as far as it matters here.
struct Line<'a> {
    /// The command and its action; empty where there is none.
    command: &'a str,
    action: &'a str,
    /// The words behind the command.
    rest: &'a [&'a str],
}

impl<'a> Line<'a> {
    fn read(words: &'a [&'a str]) -> Self {
        let at = first_operand(words).unwrap_or(words.len());
        let rest = words.get(at + 1..).unwrap_or_default();
        let action = first_operand(rest).and_then(|at| rest.get(at)).copied();
        Self {
            command: words.get(at).copied().unwrap_or_default(),
            action: action.unwrap_or_default(),
            rest,
        }
    }
}

/// Where the first word stands that is neither an option nor the value of one.
fn first_operand(words: &[&str]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if !word.starts_with('-') {
            return Some(at);
        }
        at += if lists(VALUES, word) { 2 } else { 1 };
    }
    None
}

/// Says which part of a command line of ours, without the program's name, changes or gets round
/// its own rules, consents or records.
pub fn change(words: &[&str]) -> Option<String> {
    let options = words.iter().take_while(|word| **word != "--");
    let loosening = options.clone().find(|word| {
        let name = word.split_once('=').map_or(**word, |(name, _)| name);
        lists(LOOSENING, name)
    });
    if let Some(option) = loosening {
        let name = option.split_once('=').map_or(*option, |(name, _)| name);
        return Some(name.to_owned());
    }
    let line = Line::read(words);
    let (_, actions) = CHANGES.iter().find(|(command, _)| *command == line.command)?;
    let rehearsed = options.clone().any(|word| *word == "--dry-run");
    let changes = actions.is_empty() || lists(actions, line.action);
    (changes && !rehearsed).then(|| {
        let action = if actions.is_empty() { "" } else { line.action };
        format!("{} {action}", line.command).trim_end().to_owned()
    })
}

/// Whether giving a variable this value loosens what the program asks about.
pub fn loosens(variable: &str, value: &str) -> bool {
    let off = ["", "0", "false", "no", "off"].contains(&value.to_ascii_lowercase().as_str());
    match unprefixed(variable) {
        // Masking and a safe root are loosened by what takes them away.
        Some("REDACT_SECRETS") => off,
        Some("WRITE_SAFE_ROOT") => true,
        Some(name) => lists(VARIABLES, name) && !off,
        None => false,
    }
}

/// Whether a variable names another home of ours.
pub fn names_home(variable: &str) -> bool {
    unprefixed(variable).is_some_and(|name| lists(HOMES, name))
}

fn unprefixed(variable: &str) -> Option<&str> {
    variable.strip_prefix("PETASOS_").or_else(|| variable.strip_prefix("HERMES_"))
}

/// Whether a program of an unknown name is called as only ours is.
pub(crate) fn is_called_like_ours(args: &[Arg]) -> bool {
    let words: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
    let ours = |key: &str| begins(SETTINGS, key);
    let mut pairs = words.windows(2).filter_map(|pair| match pair {
        ["--set", key] => Some(*key),
        _ => None,
    });
    let line = Line::read(&words);
    pairs.any(ours)
        || words
            .iter()
            .any(|word| *word == "--accept-hooks" || word.strip_prefix("--set=").is_some_and(ours))
        || matches!((line.command, line.action), ("term", action) if !action.is_empty())
        || matches!((line.command, line.action), ("tools", "call"))
        || matches!((line.command, line.action), ("approval", "grant" | "answer"))
        || line.command == "config"
            && matches!(line.action, "set" | "unset")
            && line.rest.iter().any(|word| ours(word))
}

/// What the program is asked to run.
fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    let words: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let line = Line::read(&words);
    inners.opaque = true;
    match (line.command, line.action) {
        ("term", _) => {
            inners.cwd = call.option(&["--workdir"]);
            let operands = call.operands_past("--home --set --workdir --timeout --session");
            if let Some(script) = operands.get(1) {
                inners.list.push(Inner::Shell((*script).clone(), Vec::new()));
            }
        }
        ("tools", "call") => called(call, inners),
        ("backend", "shell") => inners.list.push(Inner::Stdin(Language::Shell, Vec::new())),
        _ => {}
    }
}

/// The tool of `tools call`, its arguments, and the word that they stand in.
fn tool<'c>(call: &Call<'c>) -> Option<(&'c str, Value, &'c Arg)> {
    let operands = call.operands_past(VALUES);
    let [command, action, name, args, ..] = operands.as_slice() else { return None };
    if !command.is("tools") || !action.is("call") {
        return None;
    }
    Some((name.text.as_str(), serde_json::from_str(&args.text).ok()?, args))
}

fn called(call: &Call<'_>, inners: &mut Inners) {
    let Some((name, args, word)) = tool(call) else { return };
    let text = |key: &str| args.get(key).and_then(Value::as_str).map(|text| word.with_text(text));
    match name {
        "terminal" => {
            inners.cwd = text("workdir");
            inners.list.extend(text("command").map(|code| Inner::Shell(code, Vec::new())));
        }
        "execute_code" => {
            inners.list.extend(text("code").map(|code| Inner::Code(Language::Python, code)));
        }
        _ => {}
    }
}

/// The file that `tools call` hands to a tool.
pub(crate) fn touched(call: &Call<'_>) -> Option<Found> {
    let (name, args, word) = tool(call)?;
    let path = args.get("path").and_then(Value::as_str)?;
    let deed = match name {
        "write_file" | "patch" => Deed::Write,
        "read_file" => Deed::Read,
        _ => return None,
    };
    Some(Found { deed, path: word.with_text(path) })
}
