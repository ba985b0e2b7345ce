//! Real redirects against recording servers on loopback names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::wait::Owned;
use petasos_contract::{Secret, Settings};
use petasos_net::{
    Allowed, Credential, Follow, Method, Net, NetError, NetOptions, Reach, Request, Scheme, Scope,
    Url,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

/// What one request looked like when it arrived.
#[derive(Debug, Clone)]
struct Seen {
    line: String,
    host: String,
    headers: HashMap<String, String>,
    body: String,
}

/// A server that answers by path and remembers everything.
struct Recorder {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    _task: Owned<()>,
}

impl Recorder {
    async fn start(answer: fn(&str, u16) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&seen);
        let task = Owned::start(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let mut socket = BufReader::new(socket);
                let request = read(&mut socket).await;
                let path = request.line.split(' ').nth(1).unwrap_or("/").to_owned();
                record.lock().unwrap().push(request);
                let reply = answer(&path, port);
                socket.get_mut().write_all(reply.as_bytes()).await.unwrap();
            }
        });
        Self { port, seen, _task: task }
    }

    fn url(&self, host: &str, path: &str) -> Url {
        Url::parse(&format!("http://{host}:{}{path}", self.port)).unwrap()
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn read(socket: &mut BufReader<tokio::net::TcpStream>) -> Seen {
    let mut line = String::new();
    socket.read_line(&mut line).await.unwrap();
    let mut headers = HashMap::new();
    loop {
        let mut header = String::new();
        socket.read_line(&mut header).await.unwrap();
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.unwrap();
    let host = headers.get("host").cloned().unwrap_or_default();
    Seen { line: line.trim().to_owned(), host, headers, body: String::from_utf8(body).unwrap() }
}

/// `/same` stays, `/cross` leaves for another name of this machine, `/back` returns, `/loop` never
/// ends; anything else answers.
fn answer(path: &str, port: u16) -> String {
    let to = |status: &str, target: &str| {
        format!(
            "HTTP/1.1 {status} Moved\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    };
    match path {
        "/same" => to("307", "/end"),
        "/cross" => to("307", &format!("http://other.localhost:{port}/back")),
        "/back" => to("307", &format!("http://home.localhost:{port}/end")),
        "/post" => to("302", "/end"),
        "/loop" => to("302", "/loop"),
        "/slash" => to("302", "http://other.localhost\\@home.localhost/"),
        "/file" => to("302", "file:///etc/hostname"),
        _ if path.starts_with("/chain") => chain(path, port),
        "/metadata" => to("302", "http://169.254.169.254/latest"),
        _ => "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok".to_owned(),
    }
}

/// `/chain/307-b/302-s` redirects with 307 to `b.localhost`, which redirects with 302 on the spot.
fn chain(path: &str, port: u16) -> String {
    let mut steps = path.trim_start_matches("/chain").trim_start_matches('/').split('/');
    let Some((status, host)) = steps.next().and_then(|step| step.split_once('-')) else {
        return "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok".to_owned();
    };
    let rest: String = steps.map(|step| format!("/{step}")).collect::<Vec<_>>().concat();
    let target = match host {
        "s" => format!("/chain{rest}"),
        host => format!("http://{host}.localhost:{port}/chain{rest}"),
    };
    format!(
        "HTTP/1.1 {status} Moved\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

#[tokio::test]
async fn generated_chains_of_redirects_carry_the_key_only_until_they_leave() {
    let server = Recorder::start(answer).await;
    let net = Net::new(NetOptions::default());
    let (statuses, hosts) = (["301", "302", "303", "307", "308"], ["a", "b", "s"]);
    // Every chain of three steps would be 3,375; a fixed stride visits a tenth of them.
    for number in (0..3_375_usize).step_by(11) {
        let steps = [number % 15, number / 15 % 15, number / 225];
        let path: String =
            steps.map(|step| format!("/{}-{}", statuses[step % 5], hosts[step / 5])).concat();
        server.seen.lock().unwrap().clear();
        net.send(post(server.url("a.localhost", &format!("/chain{path}")))).await.unwrap();
        let mut at_home = true;
        for one in server.seen() {
            at_home &= one.host.starts_with("a.localhost:");
            assert_eq!(
                one.headers.contains_key("authorization"),
                at_home,
                "{path} at {}",
                one.host
            );
            assert_eq!(one.headers.contains_key("x-account"), at_home, "{path} at {}", one.host);
        }
    }
}

fn credential() -> Credential {
    let scope = Scope::new([Allowed::Loopback]);
    let (owner, secret) = ("test".to_owned(), Secret::new("sk-0123456789abcdef"));
    Credential { owner, secret, scope, scheme: Scheme::Bearer }
}

fn post(url: Url) -> Request {
    let request = Request::new(Method::POST, url).credential(Some(credential())).body("{}");
    request.header("content-type", "application/json").unwrap().header("x-account", "me").unwrap()
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_the_credential_and_the_body() {
    let server = Recorder::start(answer).await;
    let net = Net::new(NetOptions::default());
    let reply = net.send(post(server.url("home.localhost", "/same"))).await.unwrap();
    assert_eq!(reply.bytes(100, Duration::from_secs(5)).await.unwrap().as_ref(), b"ok");
    let last = server.seen().pop().unwrap();
    assert_eq!((last.line.as_str(), last.body.as_str()), ("POST /end HTTP/1.1", "{}"));
    assert_eq!(last.headers["authorization"], "Bearer sk-0123456789abcdef");
}

#[tokio::test]
async fn a_redirect_to_another_origin_loses_the_credential_for_good() {
    let server = Recorder::start(answer).await;
    let net = Net::new(NetOptions::default());
    net.send(post(server.url("home.localhost", "/cross"))).await.unwrap();
    let seen = server.seen();
    let hosts: Vec<_> = seen.iter().map(|one| one.host.split(':').next().unwrap()).collect();
    assert_eq!(hosts, ["home.localhost", "other.localhost", "home.localhost"]);
    let with_key: Vec<_> =
        seen.iter().map(|one| one.headers.contains_key("authorization")).collect();
    assert_eq!(with_key, [true, false, false]);
    assert!(seen.iter().skip(1).all(|one| !one.headers.contains_key("x-account")));
}

#[tokio::test]
async fn a_request_with_a_secret_body_follows_nothing() {
    let server = Recorder::start(answer).await;
    let mut request = post(server.url("home.localhost", "/same"));
    request.follow = Follow::Nowhere;
    let reply = Net::new(NetOptions::default()).send(request).await.unwrap();
    assert_eq!((reply.status, server.seen().len()), (307, 1));
}

#[tokio::test]
async fn a_post_that_is_told_to_look_elsewhere_becomes_a_get() {
    let server = Recorder::start(answer).await;
    Net::new(NetOptions::default()).send(post(server.url("localhost", "/post"))).await.unwrap();
    let last = server.seen().pop().unwrap();
    assert_eq!((last.line.as_str(), last.body.as_str()), ("GET /end HTTP/1.1", ""));
}

#[tokio::test]
async fn a_redirect_that_cannot_be_followed_is_an_error_with_a_name() {
    let server = Recorder::start(answer).await;
    let net = Net::new(NetOptions::default());
    let mut outcomes = Vec::new();
    for path in ["/loop", "/slash", "/file", "/metadata"] {
        outcomes.push(net.send(post(server.url("localhost", path))).await.unwrap_err());
    }
    assert!(matches!(outcomes[0], NetError::TooManyRedirects { .. }), "{:?}", outcomes[0]);
    assert!(matches!(outcomes[1], NetError::BadRedirect { .. }), "{:?}", outcomes[1]);
    assert!(matches!(outcomes[2], NetError::BadRedirect { .. }), "{:?}", outcomes[2]);
    assert!(matches!(outcomes[3], NetError::Address(_)), "{:?}", outcomes[3]);
}

#[tokio::test]
async fn a_request_whose_credential_may_not_go_there_is_not_sent() {
    let server = Recorder::start(answer).await;
    let scope = Scope::new([Allowed::Host("api.deepseek.com".to_owned())]);
    let request = post(server.url("localhost", "/end"))
        .credential(Some(Credential { scope, ..credential() }));
    let error = Net::new(NetOptions::default()).send(request).await.unwrap_err();
    assert!(matches!(error, NetError::Refused(_)));
    assert!(!error.to_string().contains("0123"));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_name_of_this_machine_is_not_the_public_internet() {
    let server = Recorder::start(answer).await;
    for host in ["localhost", "home.localhost", "127.0.0.1"] {
        let mut request = Request::new(Method::GET, server.url(host, "/end"));
        request.reach = Reach::PublicOnly;
        let error = Net::new(NetOptions::default()).send(request).await.unwrap_err();
        assert!(matches!(error, NetError::Address(_)), "{host}: {error:?}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_request_goes_through_the_proxy_of_the_snapshot() {
    let proxy = Recorder::start(answer).await;
    let value = Secret::new(format!("http://me:pass@127.0.0.1:{}", proxy.port));
    let source = Source::Environment { variable: "HTTP_PROXY".to_owned() };
    let variables = [("HTTP_PROXY".to_owned(), Variable { value, source })].into();
    let settings = Settings::new(Parts { variables, ..Parts::default() });
    let net = Net::new(NetOptions::from_settings(&settings));
    let request = Request::new(Method::GET, Url::parse("http://api.test/end").unwrap());
    assert_eq!(net.send(request).await.unwrap().status, 200);
    let seen = proxy.seen().pop().unwrap();
    assert_eq!(seen.line, "GET http://api.test/end HTTP/1.1");
    assert_eq!(seen.headers["proxy-authorization"], "Basic bWU6cGFzcw==");
    // This machine itself is reached directly, whatever the proxy.
    net.send(Request::new(Method::GET, proxy.url("localhost", "/end"))).await.unwrap();
    assert_eq!(proxy.seen().pop().unwrap().line, "GET /end HTTP/1.1");
}

#[tokio::test]
async fn a_server_that_never_answers_meets_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let request = Request::new(Method::GET, url).first_byte(Duration::from_millis(50));
    let error = Net::new(NetOptions::default()).send(request).await.unwrap_err();
    assert_eq!(error, NetError::FirstByteTimeout { host: "127.0.0.1".to_owned() });
}
