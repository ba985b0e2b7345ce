//! A home with settings, programs of this machine, and a vendor's double.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use petasos_contract::context::Surface;
use petasos_contract::ports::Ports;
use petasos_contract::processes::Processes;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{CallContext, Secret, SessionId, Settings};
use petasos_terminal::Engine;
use serde_json::Value;
use tempfile::TempDir;

/// Where everything of one test lies.
pub(crate) struct Desk {
    folder: TempDir,
    pub(crate) cx: CallContext,
    pub(crate) processes: Option<Arc<dyn Processes>>,
}

impl Desk {
    /// With settings and variables; call it inside a runtime.
    pub(crate) fn with(values: &Value, variables: &[(&str, &str)]) -> Self {
        Self::within(tempfile::tempdir().unwrap(), values, variables)
    }

    /// The same with programs of the test's own, which are found first.
    pub(crate) fn equipped(programs: &[(&str, &str)], values: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for (name, script) in programs {
            put(&bin.join(name), format!("#!/bin/sh\n{script}\n").as_bytes());
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(bin.join(name), mode).unwrap();
        }
        let path = format!("{}:/usr/bin:/bin", bin.display());
        Self::within(folder, values, &[("PATH", &path)])
    }

    fn within(folder: TempDir, values: &Value, variables: &[(&str, &str)]) -> Self {
        let values = values.as_object().unwrap().clone();
        let root = folder.path().to_owned();
        let usual = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let variables = usual.iter().chain(variables).map(|(name, value)| {
            let source = Source::Environment { variable: (*name).to_owned() };
            ((*name).to_owned(), Variable { value: Secret::new(*value), source })
        });
        let parts = Parts {
            home: root.join("a 'home'"),
            user_home: root.join("user"),
            workspace: root.join("work"),
            temp: root.join("tmp"),
            values,
            variables: variables.collect(),
            ..Parts::default()
        };
        for folder in [&parts.home, &parts.user_home, &parts.workspace, &parts.temp] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let settings = Arc::new(Settings::new(parts));
        let cx = CallContext::new(settings, Surface::Embedded, SessionId::new("desk"));
        let mut reach = Ports::default();
        Engine::new(None).fill(&mut reach);
        Self { folder, cx, processes: reach.processes }
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        put(&path, bytes);
        path
    }

    /// Files of the audio cache.
    pub(crate) fn kept(&self) -> usize {
        let folder = self.cx.settings.home().join("cache/audio");
        std::fs::read_dir(folder).map_or(0, Iterator::count)
    }
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::File::create(path).unwrap().write_all(bytes).unwrap();
}

/// What a vendor was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// A vendor's double: answers each request with the next of its answers, the last one again.
pub(crate) struct Double {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// Status, media type and body.
pub(crate) type Given = (u16, &'static str, Vec<u8>);

impl Double {
    pub(crate) fn giving(answers: Vec<Given>) -> Self {
        let mut left = answers.into_iter().peekable();
        Self::answering(move |_, _| {
            let answer = left.peek().cloned().unwrap();
            if left.len() > 1 {
                left.next();
            }
            answer
        })
    }

    /// The answer to each request is made from its address and what was asked.
    pub(crate) fn answering(
        mut answer: impl FnMut(&str, &Asked) -> Given + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, own) = (Arc::clone(&asked), url.clone());
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                // A client that goes away ends only its own connection.
                serve(socket, |asked| answer(&own, asked), &kept).unwrap_or_default();
            }
        });
        Self { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    socket: TcpStream,
    answer: impl FnOnce(&Asked) -> Given,
    kept: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(socket);
    let (mut line, mut head, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut line)?;
    loop {
        let mut next = String::new();
        reader.read_line(&mut next)?;
        if let Some(number) = next.to_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
        if next.trim().is_empty() {
            break;
        }
        head.push_str(&next);
    }
    let mut asked = vec![0; length];
    reader.read_exact(&mut asked)?;
    // Noted before it is answered: whoever has the answer may look.
    let asked = Asked { line: line.trim().to_owned(), head, body: asked };
    kept.lock().unwrap().push(asked.clone());
    let (status, kind, body) = answer(&asked);
    let mut socket = reader.into_inner();
    write!(
        socket,
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )?;
    socket.write_all(&body)
}
