//! A double of the vendor with direct command routing, from the vendor's published interface:
//! a control plane in the clear and a router behind TLS, which runs real processes here.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use petasos_net::Tls;
use prost::Message;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::super::messages::*;

/// Both servers.
pub(super) struct Double {
    pub(super) url: String,
    folder: TempDir,
    state: Arc<State>,
    _tasks: Vec<Owned<()>>,
}

#[derive(Default)]
struct State {
    router: Mutex<String>,
    token: AtomicU32,
    execs: Mutex<HashMap<String, Arc<Exec>>>,
    started: Mutex<Vec<String>>,
    ended: Mutex<Vec<String>>,
    cut_after: AtomicUsize,
}

/// One command.
#[derive(Default)]
struct Exec {
    output: [Mutex<(Vec<u8>, bool)>; 2],
    changed: Notify,
    code: Mutex<Option<ExitStatus>>,
    input: tokio::sync::Mutex<Option<(tokio::process::ChildStdin, u64)>>,
}

impl Double {
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = Arc::new(State::default());
        state.cut_after.store(usize::MAX, Ordering::SeqCst);
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::File::create(folder.path().join("ca.pem"))
            .and_then(|mut file| std::io::Write::write_all(&mut file, made.cert.pem().as_bytes()))
            .unwrap();
        let key =
            rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let plane = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let router = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", plane.local_addr().unwrap());
        *state.router.lock() = format!("https://localhost:{}", router.local_addr().unwrap().port());
        let tasks = vec![
            Owned::start(listen(plane, None, Arc::clone(&state))),
            Owned::start(listen(router, Some(acceptor), Arc::clone(&state))),
        ];
        Self { url, folder, state, _tasks: tasks }
    }

    pub(super) fn tls(&self) -> Tls {
        Tls { ca_cert: Some(self.folder.path().join("ca.pem")), unverified: false }
    }

    pub(super) fn ended(&self) -> Vec<String> {
        self.state.ended.lock().clone()
    }

    /// The token that was given out counts no more.
    pub(super) fn expire(&self) {
        self.state.token.fetch_add(1, Ordering::SeqCst);
    }

    /// Every stream of output breaks after so many messages.
    pub(super) fn cut_streams_after(&self, messages: usize) {
        self.state.cut_after.store(messages, Ordering::SeqCst);
    }

    /// How many commands with this text were started.
    pub(super) fn starts_of(&self, text: &str) -> usize {
        self.state.started.lock().iter().filter(|line| line.contains(text)).count()
    }
}

async fn listen(listener: TcpListener, tls: Option<tokio_rustls::TlsAcceptor>, state: Arc<State>) {
    let mut tasks = Vec::new();
    while let Ok((socket, _)) = listener.accept().await {
        let (tls, state) = (tls.clone(), Arc::clone(&state));
        tasks.push(Owned::start(async move {
            match tls {
                None => talk(socket, state).await,
                Some(tls) => {
                    if let Ok(socket) = tls.accept(socket).await {
                        talk(socket, state).await;
                    }
                }
            }
        }));
    }
}

async fn talk(socket: impl AsyncRead + AsyncWrite + Unpin, state: Arc<State>) {
    let Ok(mut connection) = h2::server::handshake(socket).await else { return };
    let mut tasks = Vec::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let state = Arc::clone(&state);
        tasks.push(Owned::start(async move {
            let (head, mut body) = request.into_parts();
            let mut message = Vec::new();
            while let Some(Ok(piece)) = body.data().await {
                drop(body.flow_control().release_capacity(piece.len()));
                message.extend_from_slice(&piece);
            }
            let message = message.get(5..).unwrap_or_default().to_vec();
            let method = head.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
            let token = head.headers.get("authorization").and_then(|value| value.to_str().ok());
            answer(&state, &method, token, &message, respond).await;
        }));
    }
}

async fn answer(
    state: &Arc<State>,
    method: &str,
    token: Option<&str>,
    message: &[u8],
    respond: SendResponse<Bytes>,
) {
    if method.starts_with("TaskExec") {
        let good = format!("Bearer token-{}", state.token.load(Ordering::SeqCst));
        if token != Some(good.as_str()) {
            return say(respond, &[], "16");
        }
        return router(state, method, message, respond).await;
    }
    let result = GenericResult { status: 1, ..GenericResult::default() };
    let one = |message: Vec<u8>| vec![message];
    let sandbox_id = "sb-1".to_owned();
    let messages = match method {
        "AppGetOrCreate" => {
            one(AppGetOrCreateResponse { app_id: "ap-1".to_owned() }.encode_to_vec())
        }
        "EnvironmentGetOrCreate" => one(EnvironmentGetOrCreateResponse::default().encode_to_vec()),
        // Not built yet: whoever asks must follow the build.
        "ImageGetOrCreate" => {
            one(ImageGetOrCreateResponse { image_id: "im-1".to_owned(), result: None }
                .encode_to_vec())
        }
        "ImageJoinStreaming" => vec![
            ImageJoinStreamingResponse { result: None, entry_id: "1".to_owned() }.encode_to_vec(),
            ImageJoinStreamingResponse { result: Some(result), entry_id: "2".to_owned() }
                .encode_to_vec(),
        ],
        "SandboxCreate" => one(SandboxIdResponse { sandbox_id }.encode_to_vec()),
        "SandboxGetTaskId" => {
            one(SandboxGetTaskIdResponse { task_id: Some("ta-1".to_owned()), task_result: None }
                .encode_to_vec())
        }
        "SandboxWait" => one(SandboxWaitResponse::default().encode_to_vec()),
        "SandboxTerminate" => {
            let ended = SandboxTerminateRequest::decode(message).unwrap();
            state.ended.lock().push(ended.sandbox_id);
            one(SandboxTerminateResponse::default().encode_to_vec())
        }
        "TaskGetCommandRouterAccess" => one(TaskGetCommandRouterAccessResponse {
            jwt: format!("token-{}", state.token.load(Ordering::SeqCst)),
            url: state.router.lock().clone(),
        }
        .encode_to_vec()),
        _ => return say(respond, &[], "12"),
    };
    say(respond, &messages, "0");
}

fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    Bytes::from([&[0], length.as_slice(), message].concat())
}

fn head() -> http::Response<()> {
    http::Response::builder().header("content-type", "application/grpc").body(()).unwrap()
}

fn trailers(status: &str) -> http::HeaderMap {
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", status.parse().unwrap());
    trailers
}

fn say(mut respond: SendResponse<Bytes>, messages: &[Vec<u8>], status: &str) {
    let Ok(mut body) = respond.send_response(head(), false) else { return };
    for message in messages {
        drop(body.send_data(framed(message), false));
    }
    drop(body.send_trailers(trailers(status)));
}

async fn router(state: &Arc<State>, method: &str, message: &[u8], respond: SendResponse<Bytes>) {
    let known = |id: &str| state.execs.lock().get(id).cloned();
    match method {
        "TaskExecStart" => {
            let order = TaskExecStartRequest::decode(message).unwrap();
            // A start that is repeated is the same start.
            if known(&order.exec_id).is_none() {
                start(state, &order);
            }
            say(respond, &[Vec::new()], "0");
        }
        "TaskExecStdinWrite" => {
            let write = TaskExecStdinWriteRequest::decode(message).unwrap();
            let Some(exec) = known(&write.exec_id) else { return say(respond, &[], "5") };
            let mut input = exec.input.lock().await;
            if let Some((pipe, at)) = &mut *input {
                let fresh = usize::try_from(at.saturating_sub(write.offset)).unwrap();
                let data = write.data.get(fresh..).unwrap_or_default();
                if pipe.write_all(data).await.is_ok() {
                    *at += data.len() as u64;
                }
            }
            if write.eof {
                *input = None;
            }
            say(respond, &[Vec::new()], "0");
        }
        "TaskExecStdioRead" => {
            let read = TaskExecStdioReadRequest::decode(message).unwrap();
            let Some(exec) = known(&read.exec_id) else { return say(respond, &[], "5") };
            let limit = state.cut_after.load(Ordering::SeqCst);
            stream(&exec, &read, limit, respond).await;
        }
        "TaskExecWait" => {
            let wait = TaskExecWaitRequest::decode(message).unwrap();
            let Some(exec) = known(&wait.exec_id) else { return say(respond, &[], "5") };
            loop {
                let changed = exec.changed.notified();
                let code = *exec.code.lock();
                if code.is_some() {
                    let answer = TaskExecWaitResponse { exit_status: code };
                    return say(respond, &[answer.encode_to_vec()], "0");
                }
                drop(tokio::time::timeout(Duration::from_millis(100), changed).await);
            }
        }
        _ => say(respond, &[], "12"),
    }
}

async fn stream(
    exec: &Exec,
    read: &TaskExecStdioReadRequest,
    limit: usize,
    mut respond: SendResponse<Bytes>,
) {
    let Ok(mut body) = respond.send_response(head(), false) else { return };
    let (mut at, mut sent) = (usize::try_from(read.offset).unwrap(), 0);
    let which = usize::try_from(read.file_descriptor).unwrap();
    loop {
        let changed = exec.changed.notified();
        let (fresh, closed) = {
            let held = exec.output[which].lock();
            (held.0.get(at..).unwrap_or_default().to_vec(), held.1)
        };
        for piece in fresh.chunks(32 * 1024) {
            let answer = TaskExecStdioReadResponse { data: piece.to_vec() }.encode_to_vec();
            drop(body.send_data(framed(&answer), false));
            at += piece.len();
            sent += 1;
            if sent >= limit {
                body.send_reset(h2::Reason::INTERNAL_ERROR);
                return;
            }
        }
        if closed {
            drop(body.send_trailers(trailers("0")));
            return;
        }
        drop(tokio::time::timeout(Duration::from_millis(100), changed).await);
    }
}

#[expect(clippy::disallowed_methods, reason = "the double is a machine that runs commands")]
fn start(state: &Arc<State>, order: &TaskExecStartRequest) {
    state.started.lock().push(order.command_args.join(" "));
    let (program, arguments) = order.command_args.split_first().unwrap();
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let exec = Arc::new(Exec::default());
    *exec.input.try_lock().unwrap() = child.stdin.take().map(|pipe| (pipe, 0));
    let (output, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let tasks = [
        tokio::task::spawn(fill(Arc::clone(&exec), 0, output)),
        tokio::task::spawn(fill(Arc::clone(&exec), 1, errors)),
    ];
    let waiter = Arc::clone(&exec);
    let waiting = tokio::task::spawn(async move {
        use std::os::unix::process::ExitStatusExt as _;
        let status = child.wait().await.unwrap();
        let code = status.code().map(ExitStatus::Code);
        *waiter.code.lock() = code.or(status.signal().map(ExitStatus::Signal));
        waiter.changed.notify_waiters();
    });
    drop((tasks, waiting));
    state.execs.lock().insert(order.exec_id.clone(), exec);
}

async fn fill(exec: Arc<Exec>, which: usize, mut pipe: impl AsyncRead + Unpin) {
    let mut piece = vec![0; 65536];
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        exec.output[which].lock().0.extend_from_slice(&piece[..read]);
        exec.changed.notify_waiters();
    }
    exec.output[which].lock().1 = true;
    exec.changed.notify_waiters();
}
