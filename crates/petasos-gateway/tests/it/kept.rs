//! Files on XMPP, kept by a real prosody of the test's own (XEP-0363).

use std::path::Path;
use std::sync::Arc;

use petasos_agent::{Act, Scripted};
use petasos_store::{DeliveryClass, Lane, MediaFile, NewDelivery, OutboxStore as _};

use crate::back::{Own, helper, put};
use crate::double::free_port;
use crate::real::{config, connected, sends, told, told_to};
use crate::world::{Config, World};

/// A prosody that keeps files, with two people.
async fn server(folder: &Path, port: u16) -> Own {
    let web = free_port();
    let data = folder.join("data");
    for user in ["bot", "una"] {
        let account = format!("return {{ [\"password\"] = \"{user}-password\"; }};\n");
        put(&data.join("localhost/accounts").join(format!("{user}.dat")), &account);
    }
    let file = folder.join("prosody.cfg.lua");
    let text = format!(
        r#"pidfile = "{pid}"
data_path = "{data}"
run_as_root = true
plugin_paths = {{}}
modules_enabled = {{ "roster", "saslauth", "disco", "ping", "mam", "presence", "message", "iq" }}
authentication = "internal_plain"
storage = "internal"
default_archive_policy = true
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{}}
s2s_ports = {{}}
http_ports = {{ {web} }}
http_interfaces = {{ "127.0.0.1" }}
https_ports = {{}}
http_default_host = "files.localhost"
log = {{ warn = "*console" }}
VirtualHost "localhost"
Component "files.localhost" "http_file_share"
  http_host = "127.0.0.1"
  http_external_url = "http://127.0.0.1:{web}/"
"#,
        pid = folder.join("prosody.pid").display(),
        data = data.display(),
    );
    put(&file, &text);
    let words = ["prosody", "--config", &file.display().to_string(), "-F"];
    Own::start(&words, port).await
}

fn account(jid: &str, at: &str, peer: &str) -> Config {
    let name = jid.split('@').next().unwrap();
    let variables = vec![
        ("XMPP_JID", jid.to_owned()),
        ("XMPP_PASSWORD", format!("{name}-password")),
        ("XMPP_HOST", at.to_owned()),
        ("XMPP_ALLOWED_USERS", peer.to_owned()),
    ];
    config("xmpp", variables, "{}")
}

#[tokio::test]
async fn s93_files_go_and_come_on_a_real_prosody_that_keeps_them() {
    // Whoever has the component has the program.
    if told("s93", "prosody", "XMPP_ADDRESS").is_none() {
        return;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let _server = server(folder.path(), port).await;
    let at = format!("127.0.0.1:{port}");
    let home = tempfile::tempdir().unwrap();
    let letter = home.path().join("cache/documents/letter.txt");
    put(&letter, "words outside");
    let bot = account("bot@localhost", &at, "una@localhost");
    let world = World::at(home.path(), Arc::default(), helper(&letter), bot).await;
    let silent = Scripted::default().otherwise(|_, _| Act::say("NO_REPLY"));
    let una = World::with(silent, account("una@localhost", &at, "bot@localhost")).await;
    connected(&world, "xmpp").await;
    connected(&una, "xmpp").await;
    // What the agent sends is put with the server, and fetched by whoever gets it.
    sends(&una, "bot@localhost", "f1", "send the file").await;
    told_to(&una, "words outside").await;
    // And the other way round.
    let note = una.home().join("cache/documents/note.txt");
    put(&note, "words inside");
    let lane = Lane {
        platform: "xmpp".to_owned(),
        account: "una@localhost".to_owned(),
        chat: "bot@localhost".to_owned(),
        thread: None,
    };
    let path = note.display().to_string();
    let file = MediaFile { path, mime: "text/plain".to_owned(), name: "note.txt".to_owned() };
    let delivery = NewDelivery {
        lane,
        class: DeliveryClass::Final,
        token: "f2".to_owned(),
        body: "read this".to_owned(),
        media: vec![file],
        buttons: Vec::new(),
        reply_to: None,
        inbox: None,
    };
    una.store.plan(vec![delivery]).await.unwrap();
    told_to(&world, "words inside").await;
}
