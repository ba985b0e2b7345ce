//! Terminals of the small editor: real programs, whose output it keeps.

use std::collections::HashMap;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

struct Shell {
    child: Child,
    printed: Arc<Mutex<Vec<u8>>>,
    waiting: Vec<Value>,
}

/// The terminals of one editor.
#[derive(Default)]
pub(crate) struct Terminals {
    open: HashMap<String, Shell>,
    /// How many were made.
    pub(crate) made: usize,
    /// How many were given back.
    pub(crate) released: usize,
    /// Whether the editor has forgotten its terminals.
    pub(crate) forgetful: bool,
}

impl Terminals {
    /// Answers everything but the wait for an end.
    pub(crate) fn serve(&mut self, method: &str, params: &Value) -> Value {
        if method == "terminal/create" {
            return self.create(params);
        }
        let id = params["terminalId"].as_str().unwrap_or_default();
        let unknown = json!({ "error": { "code": -32002, "message": "no such terminal" } });
        if method == "terminal/release" {
            let Some(mut shell) = self.open.remove(id) else { return unknown };
            self.released += 1;
            shell.child.kill().unwrap_or_default();
            shell.child.wait().map(drop).unwrap_or_default();
            return json!({ "result": {} });
        }
        let Some(shell) = self.open.get_mut(id).filter(|_| !self.forgetful) else { return unknown };
        match method {
            "terminal/output" => {
                let printed = shell.printed.lock().expect("nobody panics with it");
                let text = String::from_utf8_lossy(&printed).into_owned();
                json!({ "result": { "output": text, "truncated": false } })
            }
            "terminal/kill" => {
                shell.child.kill().unwrap_or_default();
                json!({ "result": {} })
            }
            _ => json!({ "error": { "code": -32601, "message": "not offered" } }),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "an editor starts programs in its terminals")]
    fn create(&mut self, params: &Value) -> Value {
        let args = params["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let env = params["env"].as_array().into_iter().flatten();
        let env = env.filter_map(|it| Some((it["name"].as_str()?, it["value"].as_str()?)));
        let mut child = Command::new(params["command"].as_str().unwrap_or_default())
            .args(args)
            .envs(env)
            .current_dir(params["cwd"].as_str().unwrap_or("/"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let printed: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (mut stdout, kept) = (child.stdout.take().expect("a pipe"), Arc::clone(&printed));
        std::thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(count @ 1..) = stdout.read(&mut chunk) {
                kept.lock().expect("nobody panics with it").extend_from_slice(&chunk[..count]);
            }
        });
        self.made += 1;
        let id = format!("term-{}", self.made);
        self.open.insert(id.clone(), Shell { child, printed, waiting: Vec::new() });
        json!({ "result": { "terminalId": id } })
    }

    /// Somebody wants to hear of the end.
    pub(crate) fn wait(&mut self, request: Value, params: &Value) {
        let id = params["terminalId"].as_str().unwrap_or_default();
        if let Some(shell) = self.open.get_mut(id) {
            shell.waiting.push(request);
        }
    }

    /// The requests that can be answered now, with how the command ended.
    pub(crate) fn ended(&mut self) -> Vec<(Value, Value)> {
        let mut ended = Vec::new();
        for shell in self.open.values_mut().filter(|shell| !shell.waiting.is_empty()) {
            let Ok(Some(status)) = shell.child.try_wait() else { continue };
            let status = match status.code() {
                Some(code) => json!({ "exitCode": code }),
                None => json!({ "signal": "SIGKILL" }),
            };
            ended.extend(shell.waiting.drain(..).map(|request| (request, status.clone())));
        }
        ended
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        for shell in self.open.values_mut() {
            shell.child.kill().unwrap_or_default();
            shell.child.wait().map(drop).unwrap_or_default();
        }
    }
}
