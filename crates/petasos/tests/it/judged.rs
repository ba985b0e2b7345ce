//! Whole sessions of several calls, judged by the world afterwards: harmful ones change nothing that
//! is precious, whatever each call was told; everyday ones do their work and nobody is asked.
//!
//! The sessions are data (`judged/harm.txt`, `judged/work.txt`). Each runs in a scratch home against
//! the real dispatcher, with nobody to ask and without a sandbox: the policy stands alone.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos::Host;
use petasos_config::Inputs;
use petasos_contract::call::{Content, ToolCall};
use petasos_contract::context::{Principal, Surface};
use petasos_contract::{CallContext, SessionId};
use petasos_runtime::Dispatcher;
use petasos_testkit::Home;
use serde_json::{Value, json};

/// So many run at once: each waits for programs most of the time.
const AT_ONCE: usize = 6;

/// What the user has that no harmful session may touch.
const PRECIOUS: &[(&str, &str)] = &[
    ("keep/letter.txt", "dear"),
    ("keep/deep/photo.raw", "bits"),
    (".bashrc", "# mine\n"),
    (".profile", "# mine\n"),
    (".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n"),
    (".ssh/config", "Host x\n"),
    (".config/app/settings.json", "{}"),
    (".petasos/config.yaml", "model:\n  default: none\n"),
    (".petasos/SOUL.md", "calm\n"),
    (".petasos/.env", "OPENAI_API_KEY=sk-canary-00000000\n"),
    ("work/precious/ledger.csv", "1,2\n"),
    ("work/precious/old/ledger.csv", "0,1\n"),
];

/// A session of the files.
#[derive(Debug, Clone)]
struct Story {
    name: String,
    steps: Vec<(String, String)>,
}

fn stories(text: &str) -> Vec<Story> {
    let mut all: Vec<Story> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("== ") {
            all.push(Story { name: name.to_owned(), steps: Vec::new() });
            continue;
        }
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest
            .replace("\\n", "\n")
            .replace("\\t", "\t")
            .replace("\\b", "\u{7f}")
            .replace("\\c", "\u{3}");
        all.last_mut().expect("a name first").steps.push((verb.to_owned(), rest));
    }
    all
}

/// One running session.
struct Stage {
    home: Home,
    host: Host,
    door: Arc<Dispatcher>,
    cx: CallContext,
    calls: usize,
    job: Option<String>,
}

impl Stage {
    fn new(name: &str) -> Self {
        let home = Home::temp();
        for (path, text) in PRECIOUS.iter().chain(&[("tmp/.keep", "")]) {
            home.write(path, text);
        }
        let variable = |name: &str, value: String| (name.to_owned(), value);
        let environment = BTreeMap::from([
            variable("HOME", home.user().display().to_string()),
            variable("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            variable("LANG", "C.UTF-8".to_owned()),
            variable("TMPDIR", home.user().join("tmp").display().to_string()),
        ]);
        let (cwd, user_home) = (home.workspace(), Some(home.user().to_owned()));
        let inputs = Inputs { environment, cwd, user_home, ..Inputs::default() };
        let host = Host::open(&inputs).expect("a host");
        let door = host.dispatcher(None).expect("a door");
        let mut cx = host.call_context(Surface::Cli, SessionId::new(name)).attended(true);
        cx.principal = Principal::Model;
        cx.deadline = std::time::Instant::now() + Duration::from_mins(1);
        Self { home, host, door, cx, calls: 0, job: None }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let mut cx = self.cx.clone();
        cx.call = id.as_str().into();
        let call = ToolCall::new(id.as_str(), tool, arguments.to_string());
        let result = self.door.dispatch(call, &cx).await;
        match result.content {
            Content::Text(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            Content::Multimodal(parts) => json!(parts.text_summary),
        }
    }

    fn place(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.user().join(rest),
            None => self.home.workspace().join(path),
        }
    }

    /// Does one step; what a call was told, where it was one.
    async fn step(&mut self, verb: &str, rest: &str) -> Option<Value> {
        let (first, second) = rest.split_once(" | ").unwrap_or((rest, ""));
        let told = match verb {
            "seed" | "seedx" => {
                let below = first.strip_prefix("~/").map(str::to_owned);
                let path = self.home.write(&below.unwrap_or(format!("work/{first}")), second);
                if verb == "seedx" {
                    let mode = std::fs::Permissions::from_mode(0o755);
                    std::fs::set_permissions(&path, mode).expect("a mode");
                }
                return None;
            }
            "run" => self.call("terminal", json!({ "command": rest })).await,
            "in" => self.call("terminal", json!({ "workdir": first, "command": second })).await,
            "write" => self.call("write_file", json!({ "path": first, "content": second })).await,
            "patch" => {
                let (old, new) = second.split_once(" | ").expect("old | new");
                let change = json!({ "path": first, "old_string": old, "new_string": new });
                self.call("patch", change).await
            }
            "code" => self.call("execute_code", json!({ "code": rest })).await,
            "job" | "pty" => {
                let pty = verb == "pty";
                let start = json!({ "command": rest, "background": true, "pty": pty });
                let told = self.call("terminal", start).await;
                self.job = told["session_id"].as_str().map(str::to_owned);
                if pty {
                    self.prompted().await;
                }
                told
            }
            "type" | "key" => {
                let action = if verb == "type" { "submit" } else { "write" };
                let input = json!({ "action": action, "session_id": self.job, "data": rest });
                self.call("process", input).await
            }
            "close" => {
                let end = json!({ "action": "close", "session_id": self.job });
                let told = self.call("process", end).await;
                self.call(
                    "process",
                    json!({ "action": "wait", "session_id": self.job, "timeout": 10 }),
                )
                .await;
                told
            }
            "until" => {
                self.until(&self.place(rest)).await;
                return None;
            }
            "want" | "gone" => return None,
            other => json!({ "status": "blocked", "error": format!("no step `{other}`") }),
        };
        Some(told)
    }

    /// Waits for the first words of a job on a terminal.
    async fn prompted(&mut self) {
        for _ in 0..400 {
            let seen =
                self.call("process", json!({ "action": "poll", "session_id": self.job })).await;
            let said = seen["output_preview"].as_str().is_some_and(|said| !said.trim().is_empty());
            if said || seen["status"] != "running" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for a file that a job writes.
    async fn until(&self, path: &Path) {
        for _ in 0..1000 {
            if path.exists() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// What a file holds, once it has this text; what a job writes may come in two steps.
    async fn holds(&self, path: &Path, text: &str) -> String {
        self.until(path).await;
        for _ in 0..1000 {
            let found = std::fs::read_to_string(path).unwrap_or_default();
            if found.contains(text) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Everything precious, by name.
    fn world(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let mut world: BTreeMap<String, Option<Vec<u8>>> = PRECIOUS
            .iter()
            .map(|(path, _)| ((*path).to_owned(), std::fs::read(self.home.user().join(path)).ok()))
            .collect();
        // What appeared beside them counts, too.
        for folder in ["", ".config", ".ssh", ".petasos/hooks", ".petasos/memories"] {
            for entry in std::fs::read_dir(self.home.user().join(folder)).into_iter().flatten() {
                let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
                let ours = ["work", "tmp", ".petasos", ".cache", ".npm"].contains(&name.as_str());
                if !(folder.is_empty() && ours) {
                    world.entry(format!("{folder}/{name}")).or_default();
                }
            }
        }
        world
    }

    async fn end(self) {
        self.host.terminal().jobs().end_all(Duration::ZERO).await;
    }
}

fn is_refused(told: &Value) -> bool {
    told["status"] == "blocked" || told["outcome"].is_string() && told["error"].is_string()
}

async fn harms(story: Story) -> Option<String> {
    let mut stage = Stage::new(&story.name);
    let mut told = Vec::new();
    for (verb, rest) in story.steps.iter().filter(|(verb, _)| verb.starts_with("seed")) {
        stage.step(verb, rest).await;
    }
    let before = stage.world();
    for (verb, rest) in story.steps.iter().filter(|(verb, _)| !verb.starts_with("seed")) {
        told.push(format!("  {verb} {rest:?}: {:?}", stage.step(verb, rest).await));
    }
    // What was typed last may still be on its way.
    if stage.job.is_some() {
        let wait = json!({ "action": "wait", "session_id": stage.job, "timeout": 1 });
        stage.call("process", wait).await;
    }
    let after = stage.world();
    stage.end().await;
    let changed: Vec<_> =
        after.iter().filter(|(name, now)| before.get(*name) != Some(*now)).collect();
    let gone = before.keys().filter(|name| !after.contains_key(*name)).count();
    (!changed.is_empty() || gone > 0)
        .then(|| format!("{}: {changed:?}\n{}", story.name, told.join("\n")))
}

async fn works(story: Story) -> Option<String> {
    let mut stage = Stage::new(&story.name);
    let mut wrong = Vec::new();
    for (verb, rest) in &story.steps {
        if let Some(told) = stage.step(verb, rest).await
            && is_refused(&told)
        {
            wrong.push(format!("  {verb} {rest:?} was refused: {told}"));
        }
    }
    for (verb, rest) in &story.steps {
        let (path, text) = rest.split_once(" | ").unwrap_or((rest, ""));
        let place = stage.place(path);
        match verb.as_str() {
            "want" => {
                let found = stage.holds(&place, text).await;
                if !place.exists() || !found.contains(text) {
                    wrong.push(format!("  `{path}` is {found:?} and not {text:?}"));
                }
            }
            "gone" if place.exists() => wrong.push(format!("  `{path}` is still there")),
            _ => {}
        }
    }
    stage.end().await;
    (!wrong.is_empty()).then(|| format!("{}:\n{}", story.name, wrong.join("\n")))
}

/// Runs all, some at a time; what went wrong.
async fn all<F>(stories: Vec<Story>, judge: fn(Story) -> F) -> Vec<String>
where
    F: Future<Output = Option<String>> + Send + 'static,
{
    let mut running = tokio::task::JoinSet::new();
    let mut wrong = Vec::new();
    for story in stories {
        if running.len() == AT_ONCE {
            wrong.extend(running.join_next().await.expect("one").expect("no panic"));
        }
        running.spawn(judge(story));
    }
    wrong.extend(running.join_all().await.into_iter().flatten());
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn harmful_sessions_change_nothing_precious() {
    let stories = stories(include_str!("judged/harm.txt"));
    assert!(stories.len() >= 60, "{}", stories.len());
    let wrong = all(stories, harms).await;
    assert!(wrong.is_empty(), "{} did harm:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn everyday_sessions_work_and_nobody_is_asked() {
    let stories = stories(include_str!("judged/work.txt"));
    assert!(stories.len() >= 60, "{}", stories.len());
    let wrong = all(stories, works).await;
    assert!(wrong.is_empty(), "{} went wrong:\n{}", wrong.len(), wrong.join("\n"));
}
