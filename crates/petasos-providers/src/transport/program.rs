//! Dialects that are spoken with a program: JSON-RPC, one message a line, in both directions.
//!
//! Pure like every dialect: a [`Program`] says what to tell next and how a request of the program
//! is refused; who starts it and moves the bytes is the client. Its answers are read by the
//! dialect's ordinary decoder.

use serde_json::{Map, Value, json};

use super::decode::{DecodeError, Fault, parse};
use super::target::Target;

/// The name of the call whose answer is the turn itself.
pub const TURN: &str = "turn";

/// How to talk to a program.
#[derive(Debug)]
pub struct Program {
    /// Variables of the user that belong to the program itself.
    pub grants: &'static [&'static str],
    /// What a person does about a missing login.
    pub login: &'static str,
    /// What a person should know once, when tools were to be offered.
    pub about_tools: Option<&'static str>,
    /// What to say next, from what was answered so far.
    pub next: fn(&Room<'_>, &Answers) -> Result<Vec<Value>, DecodeError>,
    /// The answer to a request of the program: nobody is there to grant anything.
    pub refuse: fn(&str, &Value) -> Result<Value, &'static str>,
}

/// What a program is told of its surroundings.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// Where it may look.
    pub folder: &'a str,
    /// Whether the user confines commands to the workspace, and so lets them write there.
    pub writes_workspace: bool,
    /// Whom we want to talk to.
    pub target: &'a Target,
    /// The turn, as the dialect's `encode` wrote it.
    pub turn: &'a Value,
}

/// The answers to our calls, by the names we gave them.
#[derive(Debug, Default)]
pub struct Answers(Map<String, Value>);

impl Answers {
    /// The answer to a call, once it has come.
    pub fn get(&self, call: &str) -> Option<&Value> {
        self.0.get(call)
    }

    /// How many have come.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A call with a name of ours.
pub fn call(name: &str, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": name, "method": method, "params": params })
}

/// A message that wants no answer.
pub fn note(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

/// One message of a program.
#[derive(Debug)]
pub enum Line {
    /// The answer to a call.
    Answered(String, Value),
    /// It reports something.
    Told(String, Value),
    /// It asks for something.
    Asked {
        /// Its name for the request.
        id: Value,
        /// What it wants.
        method: String,
        /// The details.
        params: Value,
    },
}

impl Line {
    /// Reads a line; the failure of a call is a fault in the program's words.
    pub fn read(text: &str) -> Result<Self, DecodeError> {
        let mut line: Map<String, Value> = parse(text)?;
        let mut take = |name: &str| line.remove(name).unwrap_or(Value::Null);
        let (id, method, params) = (take("id"), take("method"), take("params"));
        match (method, id) {
            (Value::String(method), Value::Null) => Ok(Self::Told(method, params)),
            (Value::String(method), id) => Ok(Self::Asked { id, method, params }),
            (Value::Null, Value::String(id)) => match take("error") {
                Value::Null => Ok(Self::Answered(id, take("result"))),
                error => Err(DecodeError::Fault { fault: fault(&error) }),
            },
            _ => Err(DecodeError::malformed("neither a call nor an answer", text)),
        }
    }
}

fn fault(error: &Value) -> Fault {
    let mut fault = crate::failure::fault(error);
    // JSON-RPC numbers its errors; they are no statuses.
    fault.status = None;
    fault.code = error.get("code").map(Value::to_string);
    fault
}

/// Our side of a conversation with a program.
#[derive(Debug)]
pub struct Talk<'a> {
    program: &'a Program,
    room: Room<'a>,
    answers: Answers,
}

impl<'a> Talk<'a> {
    /// Nothing has been said yet.
    pub fn new(program: &'a Program, room: Room<'a>) -> Self {
        Self { program, room, answers: Answers::default() }
    }

    /// Whether the program has answered anything at all.
    pub fn is_begun(&self) -> bool {
        self.answers.count() > 0
    }

    /// The first words.
    pub fn begin(&self) -> Result<Vec<Value>, DecodeError> {
        (self.program.next)(&self.room, &self.answers)
    }

    /// Takes a line and gives what is to be said to it. Failures are the decoder's to report.
    pub fn hear(&mut self, text: &str) -> Result<Vec<Value>, DecodeError> {
        match Line::read(text)? {
            Line::Told(..) => Ok(Vec::new()),
            Line::Answered(name, result) => {
                self.answers.0.insert(name, result);
                (self.program.next)(&self.room, &self.answers)
            }
            Line::Asked { id, method, params } => {
                let answer = match (self.program.refuse)(&method, &params) {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    Err(why) => json!({ "jsonrpc": "2.0", "id": id,
                        "error": { "code": NOT_OFFERED, "message": why } }),
                };
                Ok(vec![answer])
            }
        }
    }
}

/// What JSON-RPC calls a method that is not there.
const NOT_OFFERED: i32 = -32601;
