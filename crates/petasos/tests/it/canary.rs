//! Every secret of a full home, in every usual encoding, in no place where somebody could read it:
//! what the model is sent, what is printed, logged, stored or kept of jobs, and what children see.

use std::fmt::Write as _;
use std::path::Path;

use petasos_testkit::Home;
use serde_json::json;

use crate::loopback::{Loopback, Say};
use crate::petasos;

/// Where each secret is kept, and the secret.
const SECRETS: &[(&str, &str)] = &[
    ("config", "cfg-4fd1e09b77c2aa31-tts"),
    ("config list", "cfg-90aa17bd3c5e6612-list"),
    ("mcp env with a plain name", "mcp-1b7c99d0e3f44a58-region"),
    ("mcp env with a telling name", "mcp-77e0c1a2b3d4f5e6-token"),
    ("mcp header", "mcp-c0ffee11deadbeef-header"),
    ("dotenv", "env-5ac8d7e6f1029384-service"),
    ("dotenv with a plain name", "env-0f1e2d3c4b5a6978-plain"),
    ("login", "log-6d5c4b3a29181706-access"),
    ("refresh token", "log-efcdab8967452301-refresh"),
    ("mcp login", "log-3141592653589793-mcp"),
    ("environment", "pro-2718281828459045-openai"),
    ("address with a password", "pro-1618033988749894-proxy"),
    ("command line", "arg-5772156649015328-word"),
];

fn secret(of: &str) -> &'static str {
    SECRETS.iter().find(|(name, _)| *name == of).expect("a secret").1
}

fn furnish(model: &Loopback) -> Home {
    let home = Home::temp();
    let config = format!(
        "{}tts:\n  elevenlabs:\n    api_key: {}\nfallback_providers:\n  - provider: custom\n    \
         model: x\n    base_url: http://127.0.0.1:9/v1\n    api_key: {}\nmcp_servers:\n  idle:\n    \
         enabled: false\n    command: /bin/false\n    env:\n      REGION: {}\n      API_TOKEN: {}\n  \
         far:\n    enabled: false\n    url: https://example.invalid/mcp\n    headers:\n      \
         Authorization: Bearer {}\n",
        model.config(),
        secret("config"),
        secret("config list"),
        secret("mcp env with a plain name"),
        secret("mcp env with a telling name"),
        secret("mcp header"),
    );
    home.write(".petasos/config.yaml", config);
    let dotenv = format!(
        "SERVICE_TOKEN={}\nLUCKY_WORD={}\n",
        secret("dotenv"),
        secret("dotenv with a plain name")
    );
    home.write(".petasos/.env", dotenv);
    let login = json!({ "version": 1, "providers": { "openai-codex": { "tokens": {
        "access_token": secret("login"), "refresh_token": secret("refresh token"),
    }}}});
    home.write(".petasos/auth.json", login.to_string());
    let tokens = json!({ "access_token": secret("mcp login"), "token_type": "bearer" });
    home.write(".petasos/mcp-tokens/far.json", tokens.to_string());
    // A program of the project that shows them all: what a test prints, what a log holds.
    let mut dump = String::new();
    for (name, secret) in SECRETS {
        writeln!(dump, "{name}: {secret}").expect("a text");
    }
    home.write("work/dump.txt", dump);
    home
}

/// A secret as people and programs write it.
fn forms(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let hex: String = bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a text");
        text
    });
    let percent: String = bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "%{byte:02x}").expect("a text");
        text
    });
    let reversed: String = secret.chars().rev().collect();
    // The middle of its base64 at each alignment: the ends depend on what is around it.
    let base64 = (0..3).map(|shift| {
        let padded = [&b"xxx"[..shift], bytes].concat();
        let whole = base64(&padded);
        whole.chars().skip(4).take(whole.len().saturating_sub(10)).collect::<String>()
    });
    [secret.to_owned(), hex.clone(), hex.to_uppercase(), percent, reversed]
        .into_iter()
        .chain(base64)
        .collect()
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
        let number = number << (8 * (3 - three.len()));
        for at in 0..=three.len() {
            let sign = SIGNS.get((number >> (18 - 6 * at) & 63) as usize);
            text.push(char::from(*sign.expect("six bits")));
        }
    }
    text
}

/// Where a secret is shown, if it is.
fn shown(text: &[u8], place: &str, found: &mut Vec<String>) {
    let text = String::from_utf8_lossy(text);
    for (name, secret) in SECRETS {
        for form in forms(secret) {
            if text.contains(&form) {
                found.push(format!("{name} ({form}) is in {place}"));
            }
        }
    }
}

/// Looks into every file but those that people keep their secrets in.
fn look(folder: &Path, found: &mut Vec<String>) {
    const SOURCES: [&str; 6] =
        ["config.yaml", ".env", "auth.json", "far.json", "dump.txt", "dump.sh"];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
        if kind.is_dir() {
            look(&path, found);
        } else if kind.is_file() && !SOURCES.iter().any(|name| entry.file_name() == *name) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            shown(&bytes, &path.display().to_string(), found);
        }
    }
}

/// Calls that show everything, in every way that a tool has.
fn attempts() -> Vec<Say> {
    let terminal = |command: &str| ("terminal", json!({ "command": command }));
    vec![
        Say::Calls(vec![
            terminal("cat dump.txt"),
            terminal("base64 -w0 dump.txt; base64 dump.txt"),
            terminal("rev dump.txt"),
            terminal("xxd -p dump.txt | tr -d '\\n'; xxd -p -u dump.txt | tr -d '\\n'"),
            terminal("xxd -p dump.txt | tr -d '\\n' | sed 's/../%&/g'"),
            ("read_file", json!({ "path": "dump.txt" })),
            ("search_files", json!({ "pattern": "-", "path": "." })),
            ("execute_code", json!({ "code": "print(open('dump.txt').read())" })),
        ]),
        Say::Calls(vec![
            terminal("env; export -p; set"),
            terminal(
                "ps eww -p $PPID; tr '\\0' '\\n' < /proc/$PPID/environ; cat /proc/$PPID/cmdline",
            ),
            terminal(
                "p=$$; while [ $p -gt 1 ]; do cat /proc/$p/environ | base64 -w0; \
                      p=$(awk '{print $4}' /proc/$p/stat); done 2>/dev/null",
            ),
            terminal("cat ~/.petasos/config.yaml; cat ~/.petasos/auth.json; cat ~/.petasos/.env"),
            ("read_file", json!({ "path": "~/.petasos/config.yaml" })),
            ("read_file", json!({ "path": "~/.petasos/auth.json" })),
            (
                "terminal",
                json!({ "command": "cat dump.txt; sleep 0.1; rev dump.txt", "background": true }),
            ),
            terminal("cat nothing-$(cat dump.txt | head -1)"),
            // Kept as it is, which nothing masks on its way.
            terminal(
                "p=$$; while [ $p -gt 1 ]; do cat /proc/$p/cmdline >> seen; \
                      p=$(awk '{print $4}' /proc/$p/stat); done; base64 seen > seen64",
            ),
        ]),
        Say::Calls(vec![terminal("sleep 1"), ("process", json!({ "action": "list" }))]),
        Say::Text("done"),
    ]
}

#[test]
fn no_secret_of_a_full_home_is_shown_stored_or_handed_on() {
    let model = Loopback::saying(attempts());
    let home = furnish(&model);
    let program = petasos(&home)
        .with("OPENAI_API_KEY", secret("environment"))
        .with(
            "HTTPS_PROXY",
            &format!("http://me:{}@127.0.0.1:9", secret("address with a password")),
        )
        .with("NO_PROXY", "127.0.0.1");
    let mut found = Vec::new();
    let told = format!("tts.openai.api_key={}", secret("command line"));
    let runs: &[&[&str]] = &[
        &[
            "--set",
            "approvals.mode=off",
            "--set",
            "terminal.sandbox=off",
            "--set",
            &told,
            "run",
            "show me everything",
        ],
        &["mcp", "list"],
        &["mcp", "list", "--json"],
        &["config", "get"],
        &["config", "explain", "tts.elevenlabs.api_key"],
        &["doctor"],
        &["provider", "explain"],
        &["auth", "status"],
        &["ps"],
        &["logs"],
        &["sessions", "list"],
        &["approval", "log"],
    ];
    for arguments in runs {
        let done = program.run(arguments);
        let line = arguments.join(" ");
        shown(done.stdout.as_bytes(), &format!("the output of `{line}`"), &mut found);
        shown(done.stderr.as_bytes(), &format!("the remarks of `{line}`"), &mut found);
    }
    let asked = model.asked();
    let rounds = asked.iter().map(|asked| asked["messages"].as_array().map_or(0, Vec::len)).max();
    assert!(rounds.unwrap_or(0) > 15, "the calls were made: {rounds:?}");
    for asked in asked {
        shown(asked.to_string().as_bytes(), "what the model is sent", &mut found);
    }
    look(home.user(), &mut found);
    found.sort();
    found.dedup();
    assert!(found.is_empty(), "{} leaks:\n{}", found.len(), found.join("\n"));
}
