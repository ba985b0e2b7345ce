//! `notify` by the ways that a machine has.

use std::io::{Read as _, Write as _};

use petasos_contract::effect::Effect;
use serde_json::{Value, json};

use crate::bench::Bench;

#[test]
fn the_desktop_is_told_by_its_own_program() {
    let script = "printf '%s|' \"$@\" > \"$HOME/told\"\n[ -n \"$DBUS_SESSION_BUS_ADDRESS\" ]";
    let bus = [("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")];
    let bench = Bench::equipped_with(&[("notify-send", script)], &bus);
    let args =
        json!({ "message": "--the cake\nis ready", "title": "Kitchen", "urgency": "critical" });
    let told = bench.run("notify", &args);
    assert_eq!(told, json!({ "success": true, "channel": "desktop" }));
    let words = std::fs::read_to_string(bench.root.join("home/told")).unwrap();
    assert_eq!(words, "--app-name|petasos|--urgency|critical|--|Kitchen|--the cake\nis ready|");
    let effects: Vec<Effect> = bench.effects("notify", &args).iter().cloned().collect();
    assert_eq!(effects, [Effect::Send { target: "self:desktop".to_owned() }]);
}

#[test]
fn a_way_that_is_not_set_up_is_not_replaced_by_another() {
    let script = "exit 1";
    let bus = [("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")];
    let bench = Bench::equipped_with(&[("notify-send", script)], &bus);
    let mail = bench.run("notify", &json!({ "message": "x", "channel": "mail" }));
    assert_eq!(mail["error_type"], "missing_setup", "{mail}");
    let failed = bench.run("notify", &json!({ "message": "x" }));
    assert_eq!(failed["error_type"], "upstream", "{failed}");
    let bare = Bench::new();
    let nothing = bare.run("notify", &json!({ "message": "x" }));
    assert_eq!(nothing["error_type"], "missing_setup", "{nothing}");
}

/// A server of the published interface: what is posted to its root is a JSON message.
#[test]
fn a_topic_gets_the_message_and_only_its_server_the_token() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut peer, _) = server.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let count = peer.read(&mut piece).unwrap();
            request.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&request).into_owned();
            if text.ends_with('}') {
                peer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
                return text;
            }
        }
    });
    let variables = [("NTFY_SERVER", url.as_str()), ("NTFY_TOKEN", "tk_secret")];
    let bench = Bench::set_up(&json!({ "notify": { "topic": "my-phone" } }), &variables);
    let told = bench.run("notify", &json!({ "message": "grün", "urgency": "low" }));
    assert_eq!(told, json!({ "success": true, "channel": "ntfy" }));
    let request = answering.join().unwrap();
    assert!(request.to_lowercase().contains("authorization: bearer tk_secret"), "{request}");
    let body: Value = serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(
        body,
        json!({ "topic": "my-phone", "title": "Petasos", "message": "grün", "priority": 2, "tags": ["petasos"] })
    );
}
