//! One run of a shell hook: a program, JSON in, JSON or an exit code out, within a deadline.

use std::path::Path;
use std::time::{Duration, Instant};

use petasos_contract::environment::EnvError;
use petasos_contract::hook::{Directive, HookError, HookKind, Moment};
use petasos_contract::processes::{Helper, HelperSandbox, HelperSpec, Processes};
use petasos_contract::wait;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::HookSpec;
use crate::{answer, payload, spill};

/// How much a hook may say; more is its failure.
const OUTPUT_MAX: u64 = 1024 * 1024;
/// How long the tree of a hook that overran may take to end.
pub(super) const GRACE: Duration = Duration::from_millis(200);

/// What a hook said.
#[derive(Debug, Clone)]
pub struct Said {
    /// Its output.
    pub stdout: String,
    /// Its error output.
    pub stderr: String,
    /// The code that a shell would show.
    pub code: i32,
}

/// A run, for people.
#[derive(Debug)]
pub struct Ran {
    /// What it said.
    pub said: Said,
    /// What that means.
    pub directive: Result<Directive, HookError>,
    /// How long it took.
    pub took: Duration,
}

/// Runs a hook. The outer error is a hook that did not come to its end.
pub(super) async fn run(
    spec: &HookSpec,
    moment: &Moment<'_>,
    processes: &dyn Processes,
) -> Result<Ran, HookError> {
    let cx = moment.cx().ok_or_else(|| HookError("this moment has no surroundings".to_owned()))?;
    let started = Instant::now();
    let input = stdin(spec, moment).to_string();
    let mut helper =
        HelperSpec::new(format!("hook `{}`", spec.command), argv(spec, cx)?, &cx.settings);
    helper.cwd = cx.workspace.to_path_buf();
    helper.sandbox = HelperSandbox::LikeCommands { attended: cx.attended };
    let project = cx.workspace.display().to_string();
    helper.env = [
        ("PETASOS_HOOK_EVENT", spec.event_name.clone()),
        ("PETASOS_PROJECT_DIR", project.clone()),
        ("CLAUDE_PROJECT_DIR", project),
        ("PETASOS_HOME", cx.settings.home().display().to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let helper = processes.start(helper).await.map_err(|error| failed(&error))?;
    let hand = std::sync::Arc::clone(&helper.hand);
    let deadline = started + spec.timeout;
    let said = wait::until(deadline, "a shell hook", converse(helper, &input)).await;
    let Ok(said) = said else {
        if let Err(error) = hand.kill(GRACE).await {
            tracing::warn!(%error, hook = spec.command, "a hook may still run");
        }
        let seconds = spec.timeout.as_secs();
        return Err(HookError(format!("it did not answer within {seconds} s")));
    };
    let said = said?;
    let directive = understood(spec.event, &said).map(|wanted| match wanted {
        Directive::Append(text) => Directive::Append(spill::fit(text, &spec.name, &cx.settings)),
        other => other,
    });
    Ok(Ran { said, directive, took: started.elapsed() })
}

fn failed(error: &EnvError) -> HookError {
    HookError(error.to_string())
}

fn argv(spec: &HookSpec, cx: &petasos_contract::CallContext) -> Result<Vec<String>, HookError> {
    if spec.in_shell {
        return Ok(["sh", "-c", &spec.command].map(str::to_owned).into());
    }
    words(&spec.command, cx.settings.user_home()).map_err(HookError)
}

/// What the hook reads: the catalogue's frame, with Claude Code's names beside it.
fn stdin(spec: &HookSpec, moment: &Moment<'_>) -> Value {
    let mut extra = payload::fields(moment);
    let mut frame = Map::new();
    frame.insert("hook_event_name".to_owned(), json!(spec.event_name));
    for (ours, theirs) in [("tool_name", "tool_name"), ("args", "tool_input"), ("cwd", "cwd")] {
        frame.insert(theirs.to_owned(), extra.remove(ours).unwrap_or(Value::Null));
    }
    if let Some(cx) = moment.cx() {
        frame.insert("cwd".to_owned(), json!(cx.workspace.display().to_string()));
    }
    let session = extra.remove("session_id").unwrap_or(Value::Null);
    frame.insert("session_id".to_owned(), session);
    let theirs = [("result", "tool_response"), ("user_message", "prompt")];
    for (ours, name) in theirs {
        if let Some(value) = extra.get(ours) {
            frame.insert(name.to_owned(), value.clone());
        }
    }
    frame.insert("extra".to_owned(), Value::Object(extra));
    Value::Object(frame)
}

/// Writes, reads and waits, all at once: a hook may answer before it has read everything.
async fn converse(helper: Helper, input: &str) -> Result<Said, HookError> {
    let Helper { mut stdin, stdout, stderr, hand } = helper;
    let write = async move {
        // A hook that does not read its input is no failure.
        if let Err(error) = stdin.write_all(input.as_bytes()).await {
            tracing::debug!(%error, "a hook did not read its input");
        }
        drop(stdin);
    };
    let ((), out, err, exit) = tokio::join!(write, read(stdout), read(stderr), hand.exited());
    let code = exit.map_err(|error| failed(&error))?.code();
    Ok(Said { stdout: out?, stderr: err?, code })
}

async fn read(from: impl AsyncRead + Unpin) -> Result<String, HookError> {
    let mut bytes = Vec::new();
    let count = from.take(OUTPUT_MAX + 1).read_to_end(&mut bytes).await;
    let count = count.map_err(|error| HookError(error.to_string()))?;
    if count as u64 > OUTPUT_MAX {
        return Err(HookError(format!("it said more than {OUTPUT_MAX} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What was said, as what is wanted. JSON counts whatever the exit code is; without it, 0 is a
/// pass, 2 a block with the error output as its reason, and anything else a failure.
fn understood(event: HookKind, said: &Said) -> Result<Directive, HookError> {
    let text = said.stdout.trim();
    if text.starts_with('{') {
        let answer: Value = serde_json::from_str(text)
            .map_err(|error| HookError(format!("its output is no JSON: {error}")))?;
        let wanted = answer::directive(event, &answer).unwrap_or_else(|problem| {
            tracing::warn!(problem, "a hook's answer is ignored");
            Directive::Pass
        });
        if wanted != Directive::Pass || said.code == 0 {
            return Ok(wanted);
        }
    }
    match said.code {
        0 => Ok(Directive::Pass),
        2 if matches!(event, HookKind::PreToolCall | HookKind::PreVerify) => {
            let why = said.stderr.trim();
            let why = if why.is_empty() { "a hook refused this" } else { why };
            Ok(Directive::Block(why.to_owned()))
        }
        code => {
            let why: String = said.stderr.trim().chars().take(300).collect();
            Err(HookError(format!("it ended with code {code}: {why}")))
        }
    }
}

/// Splits a command into words as a shell would, without running one; `~` is the user's home.
pub fn words(command: &str, home: &Path) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (closing, Some(open)) if closing == open => quote = None,
            ('\\', None | Some('"')) => {
                let next = letters.next().ok_or("it ends with a backslash")?;
                word.get_or_insert_default().push(next);
            }
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (space, None) if space.is_whitespace() => words.extend(word.take()),
            ('~', None) if word.is_none() => {
                word = Some(home.display().to_string());
            }
            (other, _) => word.get_or_insert_default().push(other),
        }
    }
    if quote.is_some() {
        return Err(format!("a quote in `{command}` is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_words() {
        let rows: [(&str, &[&str]); 5] = [
            ("a b", &["a", "b"]),
            ("~/x 'a b' \"c\\\"d\"", &["/h/x", "a b", "c\"d"]),
            ("a\\ b ''", &["a b", ""]),
            ("x~y", &["x~y"]),
            ("", &[]),
        ];
        for (command, expected) in rows {
            assert_eq!(words(command, Path::new("/h")).unwrap(), expected, "{command}");
        }
        assert!(words("'open", Path::new("/h")).is_err());
    }

    #[test]
    fn an_exit_code_speaks_where_no_json_does() {
        let said = |code, stdout: &str| Said { stdout: stdout.into(), stderr: "why".into(), code };
        let before = HookKind::PreToolCall;
        assert_eq!(understood(before, &said(0, "a log line")), Ok(Directive::Pass));
        assert_eq!(understood(before, &said(2, "")), Ok(Directive::Block("why".into())));
        assert!(understood(before, &said(1, "")).is_err());
        assert!(understood(before, &said(0, "{broken")).is_err());
        let block = r#"{"decision":"block","reason":"no"}"#;
        assert_eq!(understood(before, &said(1, block)), Ok(Directive::Block("no".into())));
        assert!(understood(HookKind::PostToolCall, &said(2, "")).is_err());
    }
}
