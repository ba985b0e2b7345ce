//! A server's command line or address as people may read it, without secrets.
//!
//! Arguments arrive with their variables filled in, so values of variables are named again, and
//! what follows an option for a secret is left out.

use std::sync::LazyLock;

use petasos_contract::Settings;
use regex::Regex;

use super::results::mask;
use super::spec::Launch;

const HIDDEN: &str = "[REDACTED]";
/// A shorter value than this is no secret, and would be found everywhere.
const VALUE_MIN: usize = 6;
/// Variables that are no secret, whatever they hold.
const PLAIN: [&str; 9] =
    ["HOME", "PATH", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "LANG", "TERM"];

#[expect(clippy::unwrap_used, reason = "the pattern is a constant that a test compiles")]
static OPTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(-H|--?[\w.-]*(key|token|secret|passw|pwd|auth|credential|bearer|header|dsn)[\w.-]*)$",
    )
    .unwrap()
});
#[expect(clippy::unwrap_used, reason = "the pattern is a constant that a test compiles")]
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^([\w.-]*(key|token|secret|passw|pwd|auth|credential|bearer|header|dsn)[\w.-]*)=(.+)$")
        .unwrap()
});

/// How a server is reached, for people.
pub(super) fn shown(launch: &Launch, settings: &Settings) -> String {
    match launch {
        Launch::Stdio { command, args, .. } => {
            let mut line = vec![named(command, settings)];
            let mut hides_next = false;
            for arg in args {
                let hides = std::mem::replace(&mut hides_next, OPTION.is_match(arg));
                line.push(match ASSIGNED.captures(arg) {
                    _ if hides && !arg.starts_with('-') => HIDDEN.to_owned(),
                    Some(parts) => format!("{}={HIDDEN}", &parts[1]),
                    None => named(arg, settings),
                });
            }
            line.join(" ")
        }
        Launch::Http { url, .. } => {
            let mut shown = url.clone();
            shown.set_query(None);
            named(shown.as_str(), settings)
        }
    }
}

/// The text with the names of variables in the place of their values.
fn named(text: &str, settings: &Settings) -> String {
    let mut text = text.to_owned();
    for (name, variable) in settings.variables() {
        let value = variable.value.expose();
        // A path is not what somebody hides in a variable.
        let secret = value.len() >= VALUE_MIN && !value.starts_with('/');
        if secret && !PLAIN.contains(&name.as_str()) && text.contains(value) {
            text = text.replace(value, &format!("${{{name}}}"));
        }
    }
    mask(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use petasos_contract::Secret;
    use petasos_contract::settings::{Parts, Source, Variable};
    use serde_json::json;

    use crate::client::ServerSpec;

    #[test]
    fn a_command_line_and_an_address_are_shown_without_secrets() {
        let variable = |name: &str, value: &str| {
            let source = Source::Environment { variable: name.to_owned() };
            (name.to_owned(), Variable { value: Secret::new(value), source })
        };
        let variables = [variable("GH_PAT", "hunter2hunter2"), variable("USER", "somebody")];
        let settings = Settings::new(Parts { variables: variables.into(), ..Parts::default() });
        let rows = [
            (json!({ "command": "npx", "args": ["-y", "server", "/work"] }), "npx -y server /work"),
            (
                json!({ "command": "x", "args": ["--api-key", "abc", "-v"] }),
                "x --api-key [REDACTED] -v",
            ),
            (
                json!({ "command": "x", "args": ["--token=abc", "API_KEY=abc"] }),
                "x --token=[REDACTED] API_KEY=[REDACTED]",
            ),
            (json!({ "command": "x", "args": ["-H", "X-Any: abc"] }), "x -H [REDACTED]"),
            (
                json!({ "command": "x", "args": ["--db", "pg://u:hunter2hunter2@h"] }),
                "x --db pg://u:${GH_PAT}@h",
            ),
            (json!({ "command": "x", "args": ["ghp_0123456789012345678901"] }), "x [REDACTED]"),
            (json!({ "command": "x", "args": ["somebody"] }), "x somebody"),
            (json!({ "url": "https://h/hunter2hunter2/mcp?key=abc" }), "https://h/${GH_PAT}/mcp"),
        ];
        for (entry, expected) in rows {
            let spec = ServerSpec::read("s", &entry, &settings).unwrap();
            assert_eq!(spec.shown(), expected);
        }
    }
}
