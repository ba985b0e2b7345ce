//! Where a page may reach: the address rule from inside the page.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use petasos_browser::{Browsers, RawAsk};
use petasos_contract::BoxFuture;
use petasos_net::{Lookup, SiteRules};
use petasos_terminal::Helpers;
use petasos_testkit::names::NameServer;
use serde_json::{Map, json};

use crate::kit::{Kit, Server};

// Acceptance 78, 79: a page reaches its own pair and no other listening socket.
#[tokio::test]
async fn a_page_reaches_no_other_private_address_by_any_way() {
    let Some(kit) = Kit::start("a_page_reaches_no_other").await else { return };
    let other = Server::start().await;
    other.page("/x", "<p>secret</p>");
    let port = other.port;
    kit.server.page("/away", &format!("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    kit.server.page("/sw.js", "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    kit.open(&format!("<img src='http://127.0.0.1:{port}/x'><iframe src='http://127.0.0.1:{port}/x'></iframe>
      <script>window.out=[];
      const u='http://127.0.0.1:{port}/x', done=(n,v)=>out.push([n,v]);
      fetch(u,{{mode:'no-cors'}}).then(r=>done('fetch',r.type),()=>done('fetch','refused'));
      fetch('http://[::1]:{port}/x',{{mode:'no-cors'}}).then(r=>done('six',r.type),()=>done('six','refused'));
      fetch('/away',{{mode:'no-cors'}}).then(r=>done('redirect',r.type),()=>done('redirect','refused'));
      const w=new WebSocket('ws://127.0.0.1:{port}/x');w.onopen=()=>done('ws','open');w.onerror=()=>done('ws','refused');
      const x=new XMLHttpRequest();x.open('GET','http://localhost:{port}/x');x.onload=()=>done('xhr',x.status);x.onerror=()=>done('xhr','refused');x.send();
      const b=new Blob(['fetch(\"'+u+'\",{{mode:\"no-cors\"}}).then(r=>postMessage(r.type),()=>postMessage(\"refused\"))']);
      const k=new Worker(URL.createObjectURL(b));k.onmessage=e=>done('worker',e.data);
      navigator.sendBeacon(u,'x');const l=document.createElement('link');l.rel='prefetch';l.href=u;document.head.append(l);
      const pc=new RTCPeerConnection({{iceServers:[{{urls:'stun:127.0.0.1:{port}'}}]}});window.ice=[];pc.onicecandidate=e=>e.candidate&&ice.push(e.candidate.candidate);
      pc.createDataChannel('d');pc.createOffer().then(o=>pc.setLocalDescription(o));
      </script>")).await;
    let answers = loop {
        let out = kit.eval("out").await;
        if out.as_array().unwrap().len() >= 6 {
            break out;
        }
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    };
    for answer in answers.as_array().unwrap() {
        // Without CORS a refusal of the proxy is an opaque answer: what counts is the socket below.
        assert!(answer[1] == "refused" || answer[1] == "opaque", "{answers}");
    }
    assert_eq!(kit.eval("ice").await, json!([]));
    assert_eq!(other.hits.load(Ordering::SeqCst), 0, "{:?}", other.lines.lock());
    // A link there is no way either; going there by name is.
    kit.eval(&format!("setTimeout(()=>location='http://127.0.0.1:{port}/x');1")).await;
    let error = kit
        .browsers
        .navigate(&kit.cx, &format!("http://127.0.0.1:{port}/x"), false)
        .await
        .unwrap_err();
    assert_eq!(error.kind, "blocked_address", "{error}");
    assert_eq!(other.hits.load(Ordering::SeqCst), 0);
    kit.try_open(&format!("http://127.0.0.1:{port}/x")).await.unwrap();
    assert!(other.hits.load(Ordering::SeqCst) > 0);
    kit.end().await;
}

// Acceptance 77, 18: other schemes and metadata, also by the bare protocol.
#[tokio::test]
async fn local_schemes_and_metadata_are_never_opened() {
    let Some(kit) = Kit::with("local_schemes", json!({ "raw_cdp": true })).await else { return };
    for url in [
        "file:///etc/passwd",
        "chrome://version",
        "data:text/html,x",
        "view-source:http://x.example/",
        "javascript:alert(1)",
        "blob:http://x/1",
        "devtools://x",
        "ftp://x.example/",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/",
        "http://[fe80::1]/",
    ] {
        let error = kit.try_open(url).await.unwrap_err();
        assert!(matches!(error.kind, "blocked_address" | "bad_argument"), "{url}: {error:?}");
        let params: Map<_, _> = [("url".to_owned(), url.into())].into_iter().collect();
        let ask = RawAsk {
            method: "Page.navigate".to_owned(),
            params,
            opens_private: true,
            ..RawAsk::default()
        };
        let error = kit.browsers.raw(&kit.cx, ask).await.unwrap_err();
        assert_eq!(error.kind, "blocked_address", "raw {url}: {error:?}");
    }
    for method in [
        "Browser.close",
        "Browser.crash",
        "Target.createBrowserContext",
        "Browser.setDownloadBehavior",
    ] {
        let ask = RawAsk { method: method.to_owned(), ..RawAsk::default() };
        assert_eq!(
            kit.browsers.raw(&kit.cx, ask).await.unwrap_err().kind,
            "blocked_policy",
            "{method}"
        );
    }
    let ask = RawAsk {
        method: "Runtime.evaluate".to_owned(),
        params: [("expression".to_owned(), "1+1".into())].into_iter().collect(),
        ..RawAsk::default()
    };
    assert_eq!(kit.browsers.raw(&kit.cx, ask).await.unwrap()["result"]["result"]["value"], 2);
    kit.end().await;
}

/// Asks a name server of our own, which answers well first and with this machine afterwards.
#[derive(Debug)]
struct Rebinding(NameServer);

impl Rebinding {
    /// Answers well so often.
    fn after(good: usize) -> Arc<Self> {
        let answers = move |_: &str, times: usize| {
            vec![if times < good { Ipv4Addr::new(93, 184, 216, 34) } else { Ipv4Addr::LOCALHOST }]
        };
        Arc::new(Self(NameServer::start((Ipv4Addr::LOCALHOST, 0).into(), answers).unwrap()))
    }
}

impl Lookup for Rebinding {
    fn look_up<'a>(&'a self, name: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(self.0.resolve(name)))
    }
}

// Acceptance 81: the look-up that dials is the one that is checked.
#[tokio::test]
async fn e81_a_name_that_is_bound_again_is_refused() {
    let Some(kit) = Kit::start("e81_bound_again").await else { return };
    kit.server.page("/", "<p>inside</p>");
    let url = format!("http://rebind.test:{}/", kit.server.port);
    // At once, or only when the socket is opened.
    for good in [0, 1] {
        let names = Rebinding::after(good);
        let rules = SiteRules::default().with_names(names.clone() as Arc<dyn Lookup>);
        let browsers = Browsers::with_rules(Some(Helpers::new()), rules);
        let error = browsers.navigate(&kit.cx, &url, false).await.unwrap_err();
        assert_eq!(error.kind, "blocked_address", "{error}");
        assert!(error.message.contains("rebind.test leads to 127.0.0.1"), "{error}");
        assert!(names.0.times("rebind.test") > good);
        browsers.shut_down().await;
    }
    assert_eq!(kit.server.hits.load(Ordering::SeqCst), 0);
    kit.end().await;
}

// Issue 23: the whole table of addresses, from inside a page: fetched, as a picture and as a frame.
#[tokio::test]
async fn e16_no_address_of_the_table_is_reached_from_inside_a_page() {
    let Some(kit) = Kit::start("table_inside_a_page").await else { return };
    let listener = Server::start().await;
    assert!(petasos_testkit::addresses::REFUSED.len() >= 80);
    let table = json!(petasos_testkit::addresses::REFUSED);
    let port = listener.port;
    let page = format!(
        "<script>window.told={{}};const table={table};
        for (const a of table) for (const p of ['', ':{port}']) {{
          const u='http://'+a+p+'/x';
          try {{ fetch(u,{{mode:'cors'}}).then(r=>told[u]='status '+r.status,()=>told[u]='refused'); }} catch (e) {{ told[u]='refused'; }}
          const i=new Image();i.src=u;
        }}</script>"
    );
    kit.open(&page).await;
    let wanted = petasos_testkit::addresses::REFUSED.len() * 2;
    let end = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let told = loop {
        let told = kit.eval("told").await;
        if told.as_object().unwrap().len() >= wanted || std::time::Instant::now() > end {
            break told;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    let told = told.as_object().unwrap();
    assert_eq!(told.len(), wanted);
    for (url, outcome) in told {
        assert_eq!(outcome, "refused", "{url}");
    }
    assert_eq!(listener.hits.load(Ordering::SeqCst), 0, "{:?}", listener.lines.lock());
    kit.end().await;
}

/// Knows no name, and keeps those that were asked for.
#[derive(Debug, Default)]
struct Asked(Mutex<BTreeSet<String>>);

impl Lookup for Asked {
    fn look_up<'a>(&'a self, name: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        self.0.lock().insert(name.to_owned());
        Box::pin(std::future::ready(Err(std::io::Error::other("no such name"))))
    }
}

/// Where the sockets of a process lead, as the kernel's tables write it (address and port in
/// hexadecimal), but for those that lead nowhere.
fn peers(pid: u32) -> Vec<String> {
    let mut inodes = HashSet::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        let link = std::fs::read_link(entry.path()).unwrap_or_default();
        let link = link.to_string_lossy().into_owned();
        if let Some(inode) = link.strip_prefix("socket:[") {
            inodes.insert(inode.trim_end_matches(']').to_owned());
        }
    }
    let mut found = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let [_, _, peer, _, _, _, _, _, _, inode, ..] = columns.as_slice() else { continue };
            let leads_nowhere = peer.trim_start_matches('0').starts_with(':');
            if inodes.contains(*inode) && !leads_nowhere {
                found.push(format!("{table} {peer}"));
            }
        }
    }
    found
}

// Acceptance 80: no name is asked for that a page did not ask for, and no socket of the browser
// leads anywhere but to our proxies on this machine.
#[tokio::test]
async fn e80_the_browser_itself_calls_nobody() {
    let Some(kit) = Kit::start("e80_calls_nobody").await else { return };
    let asked = Arc::new(Asked::default());
    let names: Arc<dyn Lookup> = asked.clone();
    let browsers =
        Browsers::with_rules(Some(Helpers::new()), SiteRules::default().with_names(names));
    kit.server.page(
        "/around",
        "HTTP/1.1 302 Found\r\nLocation: /around\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
    kit.server.page("/fetches", "<form><input type=search><input type=password></form><script>fetch('/hang');fetch('https://wanted.test/x').catch(()=>document.title='asked')</script>");
    let base = format!("http://127.0.0.1:{}", kit.server.port);
    let mut strangers = BTreeSet::new();
    let mut looked = 0;
    for round in 0..4 {
        for path in ["/fetches", "/around", "/missing", "/fetches?again"] {
            let opened = browsers.navigate(&kit.cx, &format!("{base}{path}"), true).await;
            assert!(opened.is_ok() || path == "/around", "{round} {path}: {opened:?}");
            for pid in browsers.usage().await.pids {
                let peers = peers(pid);
                looked += peers.len();
                strangers.extend(peers.into_iter().filter(|peer| {
                    !peer.contains(" 0100007F:") && !peer.contains("0000FFFF00000100007F:")
                }));
            }
        }
        let error = browsers.navigate(&kit.cx, "https://nowhere.test/", true).await.unwrap_err();
        assert!(error.message.contains("nowhere.test"), "{error}");
    }
    assert_eq!(strangers, BTreeSet::new());
    assert!(looked > 0, "the connections to the proxy were not seen");
    let wanted = ["nowhere.test", "wanted.test"].map(str::to_owned);
    assert_eq!(*asked.0.lock(), BTreeSet::from(wanted));
    browsers.shut_down().await;
    kit.end().await;
}
