//! Where tools may reach: the table of addresses that are refused, however they are written, and
//! the filtering proxy that holds a browser to the same rules.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use petasos_contract::BoxFuture;
use petasos_net::proxy::Proxies;
use petasos_net::{
    FilterProxy, Lookup, Method, Net, NetError, NetOptions, Reach, Request, SiteRules, checked_url,
};
use petasos_testkit::addresses::REFUSED;
use petasos_testkit::names::NameServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Must stay reachable.
const PUBLIC: &[&str] = &["1.1.1.1", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"];

fn rules() -> SiteRules {
    rebinding().1
}

fn net(rules: SiteRules) -> Net {
    Net::new(NetOptions { rules: Arc::new(rules), ..NetOptions::default() })
}

fn get(address: &str) -> Result<Request, NetError> {
    let mut request = Request::new(Method::GET, checked_url(address)?);
    request.reach = Reach::PublicOnly;
    Ok(request)
}

fn is_refusal(error: &NetError) -> bool {
    matches!(error, NetError::Address(_) | NetError::Url(_) | NetError::BadRedirect { .. })
}

/// Answers every connection with this head.
async fn server(
    answer: impl Fn(&str) -> String + Send + Sync + 'static,
) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    std::mem::forget(petasos_contract::wait::Owned::start(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            let reply = answer(&String::from_utf8_lossy(&head));
            stream.write_all(reply.as_bytes()).await.ok();
        }
    }));
    (port, seen)
}

// Acceptance 16, 17, 18, 21: direct, as a redirect target, and metadata whatever the settings.
#[tokio::test]
async fn every_address_of_the_table_is_refused_direct_and_as_a_redirect() {
    assert!(REFUSED.len() >= 80, "{}", REFUSED.len());
    let (port, _) = server(|head| {
        let target = head.split(' ').nth(1).unwrap_or_default().trim_start_matches("/to/");
        let target = target.replace("%3A", ":").replace("%5B", "[").replace("%5D", "]");
        format!("HTTP/1.1 302 Found\r\nLocation: http://{target}/\r\nContent-Length: 0\r\n\r\n")
    })
    .await;
    let net = net(rules().opening("127.0.0.1", Some(port)));
    for host in REFUSED {
        for spelled in [format!("http://{host}/"), format!("https://{host}:8443/x?y=1")] {
            let refused = match get(&spelled) {
                Ok(request) => net.send(request).await.map(|reply| reply.status),
                Err(error) => Err(error),
            };
            let error = refused.expect_err(host);
            assert!(is_refusal(&error), "{spelled}: {error:?}");
        }
        if host.is_ascii() {
            let hop = format!(
                "http://127.0.0.1:{port}/to/{}",
                host.replace('[', "%5B").replace(']', "%5D")
            );
            let error = net.send(get(&hop).unwrap()).await.expect_err(host);
            assert!(is_refusal(&error), "redirect to {host}: {error:?}");
        }
    }
    for address in PUBLIC {
        let objection = Reach::PublicOnly.objection(address.parse().unwrap());
        assert_eq!(objection, None, "{address}");
    }
}

#[tokio::test]
async fn what_two_readers_could_read_differently_is_refused() {
    let tricks = [
        "http://1.1.1.1@127.0.0.1/",
        "http://user:pass@example.com/",
        "http://example.com\\@127.0.0.1/",
        "http://exa\u{9}mple.com/",
        "http://example.com /",
        "http://",
        "http:",
        "",
    ];
    for trick in tricks {
        assert!(checked_url(trick).is_err(), "{trick}");
    }
}

#[tokio::test]
async fn metadata_and_link_local_stay_out_of_reach_when_private_addresses_are_allowed() {
    let values = serde_json::json!({ "security": { "allow_private_urls": true } });
    let settings = petasos_contract::Settings::from_values(values.as_object().unwrap().clone());
    let net = net(SiteRules::from_settings(&settings));
    for host in [
        "169.254.169.254",
        "[fe80::1]",
        "169.254.1.1",
        "metadata.google.internal",
        "100.100.100.200",
    ] {
        let error = net.send(get(&format!("http://{host}/")).unwrap()).await.unwrap_err();
        assert!(matches!(error, NetError::Address(_)), "{host}: {error:?}");
    }
    let (port, seen) = server(|_| "HTTP/1.1 204 No Content\r\n\r\n".to_owned()).await;
    net.send(get(&format!("http://127.0.0.1:{port}/")).unwrap()).await.unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_blocked_site_is_named_with_its_rule() {
    let list = serde_json::json!({ "domains": ["bad.example"] });
    let values = serde_json::json!({ "security": { "website_blocklist": list } });
    let settings = petasos_contract::Settings::from_values(values.as_object().unwrap().clone());
    let error = net(SiteRules::from_settings(&settings))
        .send(get("https://www.bad.example/").unwrap())
        .await
        .unwrap_err();
    let NetError::Blocked(blocked) = error else { panic!("{error:?}") };
    assert_eq!(
        (blocked.rule.as_str(), blocked.source_name.as_str()),
        ("bad.example", "config.yaml")
    );
}

/// Speaks to the proxy as a browser does and gives the status of its answer.
async fn ask(proxy: &FilterProxy, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = stream.read(&mut answer).await.unwrap();
    let text = String::from_utf8_lossy(&answer[..read]).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    (status, text)
}

async fn proxy(rules: SiteRules) -> FilterProxy {
    FilterProxy::start(rules, Proxies::default(), 1_000_000).await.unwrap()
}

#[tokio::test]
async fn a_browser_behind_the_proxy_reaches_no_address_of_the_table() {
    let proxy = proxy(rules()).await;
    proxy.open();
    for host in REFUSED.iter().filter(|host| host.is_ascii()) {
        // A browser has normalised the host before it asks.
        let Ok(url) = url::Url::parse(&format!("http://{host}/")) else { continue };
        let host = url.host_str().unwrap();
        for request in [
            format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n"),
            format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        ] {
            assert_eq!(ask(&proxy, &request).await.0, 403, "{request}");
        }
    }
    assert!(proxy.refused().iter().all(|refused| refused.is_address));
}

/// Asks a name server of our own.
#[derive(Debug)]
struct Asking(Arc<NameServer>);

impl Lookup for Asking {
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(self.0.resolve(host)))
    }
}

/// A server that answers for `later.test` well and then with this machine, and for `mixed.test`
/// with both at once.
fn rebinding() -> (Arc<NameServer>, SiteRules) {
    let (public, here) = (Ipv4Addr::new(93, 184, 216, 34), Ipv4Addr::LOCALHOST);
    let answers = move |name: &str, times: usize| match (name, times) {
        ("mixed.test", _) => vec![public, here],
        ("later.test", 0) => vec![public],
        _ => vec![here],
    };
    let names = NameServer::start((Ipv4Addr::LOCALHOST, 0).into(), answers).unwrap();
    let names = Arc::new(names);
    let rules = SiteRules::default().with_names(Arc::new(Asking(Arc::clone(&names))));
    (names, rules)
}

// Acceptance 20, 21: a name server that changes its mind, or answers with both at once, without a
// proxy between; each connection asks for itself and goes where it was told, or nowhere.
#[tokio::test]
async fn e20_e21_a_server_that_rebinds_a_name_reaches_no_socket_of_this_machine() {
    let (port, seen) = server(|_| "HTTP/1.1 204 No Content\r\n\r\n".to_owned()).await;
    let (names, rules) = rebinding();
    assert_eq!(names.resolve("later.test").unwrap(), [IpAddr::from([93, 184, 216, 34])]);
    let net = net(rules);
    for name in ["later.test", "mixed.test"] {
        let asked = names.times(name);
        let request = get(&format!("http://{name}:{port}/")).unwrap();
        let error = net.send(request).await.unwrap_err();
        assert!(matches!(error, NetError::Address(_)), "{name}: {error:?}");
        assert!(error.to_string().contains("leads to 127.0.0.1"), "{error}");
        assert_eq!(names.times(name), asked + 1, "{name} is asked for once");
    }
    assert_eq!(seen.load(Ordering::SeqCst), 0);
}

// Acceptance 20 and 81: the second answer is checked like the first.
#[tokio::test]
async fn a_name_that_answers_differently_the_second_time_is_refused_at_the_socket() {
    let (port, seen) =
        server(|_| "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_owned()).await;
    let proxy = proxy(rebinding().1).await;
    proxy.open();
    assert_eq!(proxy.objection("later.test", port).await, None);
    let request = format!("GET http://later.test:{port}/ HTTP/1.1\r\nHost: later.test\r\n\r\n");
    let (status, text) = ask(&proxy, &request).await;
    assert_eq!(status, 403, "{text}");
    assert!(text.contains("later.test leads to 127.0.0.1"), "{text}");
    assert_eq!(seen.load(Ordering::SeqCst), 0);
}

// Acceptance 78 and 79: nothing before a navigation, then only the pair that was opened.
#[tokio::test]
async fn only_the_private_pair_that_was_opened_is_reached() {
    let answer = |_: &str| "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_owned();
    let ((port, seen), (other, untouched)) = (server(answer).await, server(answer).await);
    let proxy = proxy(SiteRules::default()).await;
    let get =
        |port: u16| format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_eq!(ask(&proxy, &get(port)).await.0, 403);
    proxy.open_private("127.0.0.1", port);
    let (status, text) = ask(&proxy, &get(port)).await;
    assert_eq!((status, text.ends_with("hi")), (200, true), "{text}");
    assert_eq!(ask(&proxy, &get(other)).await.0, 403);
    let tunnel = format!("CONNECT 127.0.0.1:{other} HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(ask(&proxy, &tunnel).await.0, 403);
    let counts = (seen.load(Ordering::SeqCst), untouched.load(Ordering::SeqCst));
    assert_eq!(counts, (1, 0));
    assert!(proxy.bytes() > 0);
}

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways_and_ends_at_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let echo = petasos_contract::wait::Owned::start(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (mut read, mut write) = stream.split();
        tokio::io::copy(&mut read, &mut write).await.ok();
    });
    let proxy = FilterProxy::start(SiteRules::default(), Proxies::default(), 1000).await.unwrap();
    proxy.open_private("127.0.0.1", port);
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let head = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    stream.write_all(b"ping").await.unwrap();
    let mut back = [0; 4];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"ping");
    stream.write_all(&[7; 4000]).await.unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.ok();
    assert!(rest.len() <= 4000, "{}", rest.len());
    assert_eq!(ask(&proxy, &head).await.0, 403);
    drop(echo);
}
