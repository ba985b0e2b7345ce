//! A small editor: the program over pipes, every frame kept, requests of the agent answered from a
//! script.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::terminals::Terminals;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often the editor looks after its terminals.
const TICK: Duration = Duration::from_millis(20);

/// What the editor does when it is asked for a permission.
#[derive(Debug, Clone)]
pub(crate) enum Permit {
    /// Chooses the option of this id.
    Choose(&'static str),
    /// Says that the turn was cancelled.
    Cancelled,
    /// Answers something that cannot be read.
    Nonsense,
    /// Never answers.
    Silent,
}

pub(crate) struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    arriving: Receiver<String>,
    /// Nothing more is read from the program.
    deaf: Arc<AtomicBool>,
    /// Every frame in both directions.
    pub(crate) trace: Vec<Value>,
    next: u64,
    answers: HashMap<u64, Value>,
    /// What is chosen next; the last one stays.
    pub(crate) permits: Vec<Permit>,
    /// Permissions that were asked for.
    pub(crate) asked: Vec<Value>,
    /// Texts that are open in the editor, saved or not.
    pub(crate) buffers: HashMap<String, String>,
    /// What the agent asked of the editor, by method.
    pub(crate) served: Vec<String>,
    /// Methods that the editor never answers.
    pub(crate) mute: Vec<&'static str>,
    /// Whether the editor refuses to write files.
    pub(crate) refuses_writes: bool,
    /// What is answered to a form.
    pub(crate) form: Value,
    /// Commands that run in the editor's terminals.
    pub(crate) terminals: Terminals,
}

impl Editor {
    /// Starts the program in a home.
    pub(crate) fn start(home: &Home) -> Self {
        Self::start_with(home, |_| {})
    }

    /// Starts it with something changed.
    #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
    pub(crate) fn start_with(home: &Home, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_petasos"));
        command
            .arg("acp")
            .env_clear()
            .env("HOME", home.user())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(home.workspace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        change(&mut command);
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (send, arriving) = channel();
        let deaf = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&deaf);
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if stopped.load(Ordering::Acquire) {
                    // The pipe stays open, and fills.
                    std::thread::park();
                }
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            stdin,
            arriving,
            deaf,
            trace: Vec::new(),
            next: 0,
            answers: HashMap::new(),
            permits: vec![Permit::Choose("allow_once")],
            asked: Vec::new(),
            buffers: HashMap::new(),
            served: Vec::new(),
            mute: Vec::new(),
            refuses_writes: false,
            form: json!({ "action": "decline" }),
            terminals: Terminals::default(),
        }
    }

    /// Starts it and says hello, with these abilities.
    pub(crate) fn greeted(home: &Home, abilities: &Value) -> Self {
        Self::start(home).hello(abilities)
    }

    /// Says hello, with these abilities.
    pub(crate) fn hello(self, abilities: &Value) -> Self {
        let mut editor = self;
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": abilities });
        editor.ask("initialize", hello);
        editor
    }

    /// Reads nothing more of what the program says.
    pub(crate) fn stop_reading(&self) {
        self.deaf.store(true, Ordering::Release);
    }

    /// Sends a line as it is.
    pub(crate) fn raw(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open pipe");
        stdin.write_all(line.as_bytes()).expect("the program reads");
        stdin.write_all(b"\n").expect("the program reads");
        stdin.flush().expect("the program reads");
    }

    fn send(&mut self, frame: Value) {
        self.raw(&frame.to_string());
        self.trace.push(frame);
    }

    /// Asks something without waiting for the answer.
    pub(crate) fn request(&mut self, method: &str, params: impl Into<Value>) -> u64 {
        let params = params.into();
        self.next += 1;
        let id = self.next;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Tells something.
    pub(crate) fn tell(&mut self, method: &str, params: impl Into<Value>) {
        let params = params.into();
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The whole answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.until("an answer", |editor| editor.answers.remove(&id))
    }

    /// Asks and gives the result, which must be there.
    pub(crate) fn ask(&mut self, method: &str, params: impl Into<Value>) -> Value {
        let id = self.request(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Asks and gives the code of the error, which must be there.
    pub(crate) fn refused(&mut self, method: &str, params: impl Into<Value>) -> i64 {
        let id = self.request(method, params);
        let answer = self.answer(id);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// A new session in a directory.
    pub(crate) fn session(&mut self, cwd: &Path) -> String {
        let new = self.ask("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        new["sessionId"].as_str().expect("a name").to_owned()
    }

    /// Says something; gives the request.
    pub(crate) fn say(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Says something and waits for the stop reason.
    pub(crate) fn turn(&mut self, session: &str, text: &str) -> String {
        let id = self.say(session, text);
        let answer = self.answer(id);
        answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Says something to a session that is not open; gives the code of the error.
    pub(crate) fn turn_refused(&mut self, session: &str) -> i64 {
        let prompt = json!([{ "type": "text", "text": "hello" }]);
        self.refused("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Takes frames until something is there.
    pub(crate) fn until<T>(
        &mut self,
        what: &str,
        mut found: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            for (id, status) in self.terminals.ended() {
                self.send(json!({ "jsonrpc": "2.0", "id": id, "result": status }));
            }
            match self.arriving.recv_timeout(TICK) {
                Ok(line) => self.take(&line),
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                Err(error) => {
                    let last = self.trace.iter().rev().take(8).map(Value::to_string);
                    let last = last.collect::<Vec<_>>().join("\n");
                    panic!("{what} never came ({error}); the last frames, newest first:\n{last}");
                }
            }
        }
    }

    fn take(&mut self, line: &str) {
        let frame: Value = serde_json::from_str(line).expect("only frames on standard output");
        self.trace.push(frame.clone());
        match (frame.get("method").and_then(Value::as_str), frame.get("id")) {
            (Some(method), Some(id)) => self.serve(method, id, &frame["params"]),
            (None, Some(id)) => {
                if let Some(id) = id.as_u64() {
                    self.answers.insert(id, frame);
                }
            }
            _ => {}
        }
    }

    /// Answers what the agent asks.
    fn serve(&mut self, method: &str, id: &Value, params: &Value) {
        self.served.push(method.to_owned());
        if self.mute.contains(&method) {
            return;
        }
        let answer = match method {
            "terminal/wait_for_exit" => return self.terminals.wait(id.clone(), params),
            method if method.starts_with("terminal/") => self.terminals.serve(method, params),
            "elicitation/create" => {
                self.asked.push(params.clone());
                json!({ "result": self.form })
            }
            "session/request_permission" => {
                self.asked.push(params.clone());
                let permit = if self.permits.len() > 1 {
                    self.permits.remove(0)
                } else {
                    self.permits[0].clone()
                };
                match permit {
                    Permit::Choose(option) => {
                        json!({ "result": { "outcome": { "outcome": "selected", "optionId": option } } })
                    }
                    Permit::Cancelled => {
                        json!({ "result": { "outcome": { "outcome": "cancelled" } } })
                    }
                    Permit::Nonsense => json!({ "result": { "outcome": 7 } }),
                    Permit::Silent => return,
                }
            }
            "fs/read_text_file" => {
                match self.buffers.get(params["path"].as_str().unwrap_or_default()) {
                    Some(text) => json!({ "result": { "content": text } }),
                    None => json!({ "error": { "code": -32002, "message": "no such buffer" } }),
                }
            }
            "fs/write_text_file" if self.refuses_writes => {
                json!({ "error": { "code": -32002, "message": "not here" } })
            }
            "fs/write_text_file" => {
                let path = params["path"].as_str().unwrap_or_default().to_owned();
                let text = params["content"].as_str().unwrap_or_default().to_owned();
                let mode = petasos_fs::Mode::Exactly(0o644);
                petasos_fs::write(std::path::Path::new(&path), text.as_bytes(), mode)
                    .expect("an editor saves what it is given");
                self.buffers.insert(path, text);
                json!({ "result": {} })
            }
            "_petasos/panel/read" => {
                json!({ "result": { "totalLines": 9, "start": 7, "end": 9, "viewportRows": 24,
                    "cursorRow": 8, "text": "$ make\nok" } })
            }
            "_petasos/panel/close" | "_petasos/panel/move" => json!({ "result": {} }),
            _ => json!({ "error": { "code": -32601, "message": "not offered" } }),
        };
        let mut frame = json!({ "jsonrpc": "2.0", "id": id });
        let (frame_map, answer_map) = (frame.as_object_mut(), answer.as_object().cloned());
        frame_map.expect("an object").extend(answer_map.expect("an object"));
        self.send(frame);
    }

    /// The updates of a kind, in order.
    pub(crate) fn updates(&self, kind: &str) -> Vec<Value> {
        let frames = self.trace.iter().filter(|frame| frame["method"] == "session/update");
        let updates = frames.map(|frame| frame["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// What the agent said, in one text.
    pub(crate) fn said(&self) -> String {
        let chunks = self.updates("agent_message_chunk");
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// The last state of each call, by its id.
    pub(crate) fn calls(&self) -> HashMap<String, String> {
        let mut states = HashMap::new();
        for frame in &self.trace {
            let update = &frame["params"]["update"];
            if let (Some(id), Some(status)) =
                (update["toolCallId"].as_str(), update["status"].as_str())
            {
                states.insert(id.to_owned(), status.to_owned());
            }
        }
        states
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(mut self) -> Vec<Value> {
        self.child.kill().expect("a running program");
        self.child.wait().expect("an end");
        std::mem::take(&mut self.trace)
    }

    /// The process number of the program.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes its input; gives how long it took to end, and its exit code.
    pub(crate) fn leave(mut self) -> (Duration, Option<i32>) {
        let started = Instant::now();
        drop(self.stdin.take());
        let status = self.child.wait().expect("an end");
        (started.elapsed(), status.code())
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}
