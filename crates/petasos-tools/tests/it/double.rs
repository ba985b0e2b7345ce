//! A stand-in for a vendor's HTTP interface. Each request is held against a table that was made
//! from the vendor's published description; one that does not fit is answered with 400 and noted.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// A request that came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

impl Seen {
    /// Method and path.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// What is answered.
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
}

impl Said {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: 200, headers: Vec::new(), body }
    }

    pub(crate) fn status(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body }
    }
}

type Answering = Box<dyn Fn(&Seen) -> Said + Send + Sync>;

struct Shared {
    table: Value,
    prefix: &'static str,
    answer: Answering,
    seen: Mutex<Vec<Seen>>,
    wrong: Mutex<Vec<String>>,
    over: AtomicBool,
}

/// A stand-in that listens.
pub(crate) struct Double {
    pub(crate) url: String,
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    listening: Option<std::thread::JoinHandle<()>>,
}

impl Double {
    /// Starts one below a path.
    pub(crate) fn start(
        table: &str,
        prefix: &'static str,
        answer: impl Fn(&Seen) -> Said + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            table: serde_json::from_str(table).unwrap(),
            prefix,
            answer: Box::new(answer),
            seen: Mutex::default(),
            wrong: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let kept = Arc::clone(&shared);
        let listening = std::thread::spawn(move || {
            for peer in listener.incoming() {
                if kept.over.load(Ordering::SeqCst) {
                    return;
                }
                kept.serve(peer.unwrap());
            }
        });
        let url = format!("http://{address}{prefix}");
        Self { url, address, shared, listening: Some(listening) }
    }

    /// What came so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().clone()
    }

    /// Method and path of what came so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Seen::line).collect()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            assert!(listening.join().is_ok() || std::thread::panicking());
        }
        let wrong = self.shared.wrong.lock();
        assert!(wrong.is_empty() || std::thread::panicking(), "against the description: {wrong:?}");
    }
}

impl Shared {
    fn serve(&self, peer: TcpStream) {
        let mut reader = BufReader::new(peer);
        let Some(seen) = read(&mut reader, self.prefix) else { return };
        self.seen.lock().push(seen.clone());
        let said = match self.fault(&seen) {
            None => (self.answer)(&seen),
            Some(wrong) => {
                self.wrong.lock().push(format!("{}: {wrong}", seen.line()));
                Said::status(400, json!({ "message": wrong }))
            }
        };
        let body = if said.body.is_null() { String::new() } else { said.body.to_string() };
        let mut text = format!(
            "HTTP/1.1 {} X\r\ncontent-length: {}\r\nconnection: close\r\n",
            said.status,
            body.len()
        );
        for (name, value) in said.headers {
            text.extend([name, ": ", value.as_str(), "\r\n"]);
        }
        // Whoever was cancelled does not read its answer.
        let peer = reader.get_mut();
        let _gone = peer.write_all(format!("{text}\r\n{body}").as_bytes());
    }

    /// What is wrong with a request, if anything.
    fn fault(&self, seen: &Seen) -> Option<String> {
        let rows = self.table["requests"].as_array().unwrap();
        let fits = |row: &&Value| {
            row["method"] == seen.method.as_str() && same(row["path"].as_str().unwrap(), &seen.path)
        };
        let Some(row) = rows.iter().find(fits) else { return Some("no such request".to_owned()) };
        for (name, value) in &seen.query {
            let Some(kind) = row["query"][name].as_str() else {
                return Some(format!("no query `{name}`"));
            };
            if !is_kind(kind, value) {
                return Some(format!("query `{name}` is `{value}`, not {kind}"));
            }
        }
        if let Some(object) = seen.body.as_object() {
            for (name, value) in object {
                let kind = &row["body"][name];
                if kind.is_null() {
                    return Some(format!("no field `{name}`"));
                }
                if let Some(wrong) = misfit(name, kind, value) {
                    return Some(wrong);
                }
            }
        }
        let needs = row["needs"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut missing =
            needs.filter(|name| !seen.query.contains_key(*name) && seen.body.get(*name).is_none());
        missing.next().map(|name| format!("`{name}` is missing"))
    }
}

/// What is wrong with a value: a kind is a word, the kind of its items, the words that it may be, or
/// the fields that it has and needs.
fn misfit(at: &str, kind: &Value, value: &Value) -> Option<String> {
    if let Some(words) = kind.get("enum") {
        let fits = words.as_array().unwrap().contains(value);
        return (!fits).then(|| format!("`{at}` is {value}, not one of {words}"));
    }
    if let Some(items) = kind.get("items") {
        let Some(list) = value.as_array() else { return Some(format!("`{at}` is no list")) };
        return list.iter().find_map(|item| misfit(&format!("{at}[]"), items, item));
    }
    if let Some(fields) = kind.get("fields") {
        let Some(object) = value.as_object() else { return Some(format!("`{at}` is no object")) };
        let needs = kind["needs"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(name) = needs.into_iter().find(|name| !object.contains_key(*name)) {
            return Some(format!("`{at}.{name}` is missing"));
        }
        return object.iter().find_map(|(name, value)| match fields.get(name) {
            Some(kind) => misfit(&format!("{at}.{name}"), kind, value),
            None => Some(format!("no field `{at}.{name}`")),
        });
    }
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = kind.as_str().is_some_and(|kinds| kinds.split('|').any(|kind| kind == is));
    (!fits).then(|| format!("`{at}` is {is}, not {kind}"))
}

fn same(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len()
        && pattern.iter().zip(&path).all(|(wanted, part)| match *wanted {
            "{id}" => is_kind("id", part),
            "{token}" => !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric()),
            wanted => wanted == *part,
        })
}

fn is_kind(kind: &str, value: &str) -> bool {
    match kind {
        "id" => !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()),
        "bool" => matches!(value, "true" | "false"),
        "text" => !value.is_empty(),
        range => {
            let (least, most) = range.split_once("..").unwrap();
            let number: i64 = value.parse().unwrap_or(i64::MIN);
            (least.parse().unwrap()..=most.parse().unwrap()).contains(&number)
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>, prefix: &str) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let size = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut bytes = vec![0; size];
    reader.read_exact(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body = serde_json::from_str(&text)
        .unwrap_or_else(|_| if text.is_empty() { Value::Null } else { json!(text) });
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let path = path.strip_prefix(prefix).unwrap_or("outside").to_owned();
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    let query = query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Some(Seen { method, path, query, headers, body })
}
