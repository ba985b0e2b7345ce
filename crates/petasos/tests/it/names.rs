//! A real name server that changes its mind, asked by the system's own resolver, under the whole
//! program: in a network of its own, where one address is public and the other this machine.
//!
//! Where nobody may make such a network, the tests of `petasos-net` and `petasos-browser` with the
//! same server behind their own look-up stand for it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, ToSocketAddrs as _};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use petasos_testkit::names::NameServer;
use petasos_testkit::{Home, Program, skip};
use serde_json::json;

/// An address that everybody may reach, which is ours in here.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
const SECRET: &str = "the secret of this machine";
/// Ends a helper that could not have its network.
const NO_NETWORK: i32 = 77;

/// What was asked for, and at which of our addresses.
type Seen = Arc<Mutex<Vec<(IpAddr, String)>>>;

/// Serves a page that asks for more, and marks that it was there.
fn serve(page: &'static str) -> (u16, Arc<AtomicBool>, Seen) {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (served, seen) = (Arc::new(AtomicBool::new(false)), Seen::default());
    let (mark, kept) = (Arc::clone(&served), Arc::clone(&seen));
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let at = socket.local_addr().expect("an address").ip();
            let mut line = String::new();
            BufReader::new(&socket).read_line(&mut line).unwrap_or_default();
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            let body = if path == "/" { page } else { SECRET };
            if path == "/" {
                mark.store(true, Ordering::SeqCst);
            }
            kept.lock().expect("nobody panics with the list").push((at, path));
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
            let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            socket.write_all(answer.as_bytes()).unwrap_or_default();
        }
    });
    (port, served, seen)
}

const PAGE: &str = "<html><title>News</title><body><h1>News</h1><p id=told>nothing yet</p><script>\
    fetch('/more').then(async r=>{told.textContent='status '+r.status+': '+await r.text()},\
    ()=>{told.textContent='refused'})</script></body></html>";

#[test]
#[ignore = "helper process: started by the test below in a network of its own"]
fn a_network_of_its_own() {
    let (port, served, seen) = serve(PAGE);
    // Good until the page was there, and this machine ever after.
    let answers = move |name: &str, _: usize| match name {
        "mixed.test" => vec![PUBLIC, Ipv4Addr::LOCALHOST],
        _ if served.load(Ordering::SeqCst) => vec![Ipv4Addr::LOCALHOST],
        _ => vec![PUBLIC],
    };
    let names = NameServer::start((Ipv4Addr::LOCALHOST, 53).into(), answers).expect("port 53");
    // A system that asks somebody else for names is not what is shown here.
    let asked = ("probe.test", 80).to_socket_addrs().into_iter().flatten().next();
    if asked.is_none_or(|found| found.ip() != PUBLIC) {
        return;
    }
    let home = Home::temp();
    let program = Program::new(env!("CARGO_BIN_EXE_petasos"), &home);
    let call = |tool: &str, args: serde_json::Value| {
        let done = program.run(&["tools", "call", tool, &args.to_string()]);
        format!("{}{}", done.stdout, done.stderr)
    };
    let url = |name: &str| format!("http://{name}:{port}/");
    // Line 81: the page comes from the public address; what it asks for next leads here, and then
    // it is no page that anybody is shown.
    for _ in 0..2 {
        let told = call("browser_navigate", json!({ "url": url("rebind.test") }));
        assert!(told.contains("rebind.test leads to 127.0.0.1"), "{told}");
        assert!(told.contains("blocked_address") && !told.contains(SECRET), "{told}");
    }
    assert!(names.times("rebind.test") > 2, "it was asked for again");
    // Lines 20, 21: the same without a browser.
    for name in ["rebind.test", "mixed.test"] {
        let told = call("web_extract", json!({ "urls": [url(name)], "refresh": true }));
        assert!(told.contains("blocked_address"), "{told}");
        assert!(told.contains(&format!("{name} leads to 127.0.0.1")), "{told}");
    }
    let seen = seen.lock().expect("nobody panics with the list").clone();
    assert_eq!(seen, [(IpAddr::V4(PUBLIC), "/".to_owned())]);
}

// Acceptance 20, 21, 81.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test needs a network of its own")]
fn e20_e81_a_name_that_is_bound_again_reaches_nothing_of_this_machine() {
    let browsers = ["/usr/bin/chromium", "/usr/bin/google-chrome"];
    if !browsers.iter().any(|path| Path::new(path).exists()) {
        return skip("e20_e81_a_name", "chromium", "no browser on the search path");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let resolver = folder.path().join("resolv.conf");
    std::fs::write(&resolver, "nameserver 127.0.0.1\noptions timeout:10\n").expect("a file");
    let prelude = format!(
        "ip link set lo up && ip address add {PUBLIC}/32 dev lo && \
         mount --bind '{}' /etc/resolv.conf || exit {NO_NETWORK}; exec \"$@\"",
        resolver.display()
    );
    let own = std::env::current_exe().expect("this program");
    let done = Command::new("unshare")
        .args(["--map-root-user", "--net", "--mount", "/bin/sh", "-c", &prelude, "sh"])
        .arg(own)
        .args(["names::a_network_of_its_own", "--exact", "--ignored", "--nocapture"])
        .output();
    let Ok(done) = done else { return };
    let remarks = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.code() == Some(NO_NETWORK) || remarks.starts_with("unshare:") {
        return;
    }
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}\n{remarks}");
}
