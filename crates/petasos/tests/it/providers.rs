//! `petasos provider`, `auth` and `model`: choices, their reasons, and what is kept.

use std::os::unix::fs::PermissionsExt as _;

use petasos_testkit::Home;
use serde_json::json;

use crate::loopback::{Loopback, Say};
use crate::petasos;

#[test]
fn nothing_configured_is_an_error_object_and_exit_code_one() {
    let finished = petasos(&Home::temp()).run(&["provider", "resolve", "--json"]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.json()["error"]["code"], "no_provider_configured");
}

#[test]
fn a_key_is_masked_and_its_source_is_told() {
    let resolved = petasos(&Home::temp())
        .with("OPENROUTER_API_KEY", "or-0123456789abcdef")
        .run(&["provider", "resolve", "--json"])
        .json();
    assert_eq!(resolved["provider"], "openrouter");
    assert_eq!(resolved["api_key"], "••••cdef");
    assert_eq!(resolved["source"], "env:OPENROUTER_API_KEY");
    assert!(!resolved["trace"].as_array().unwrap().is_empty());
}

#[test]
fn a_key_does_not_follow_an_address_that_only_looks_right() {
    let home = Home::temp();
    home.write(
        ".petasos/config.yaml",
        "model:\n  provider: custom\n  base_url: https://openrouter.ai.evil.com/v1\n",
    );
    let resolved = petasos(&home)
        .with("OPENROUTER_API_KEY", "or-0123456789abcdef")
        .run(&["provider", "resolve", "--json"])
        .json();
    assert_eq!(resolved["api_key"], serde_json::Value::Null, "{resolved}");
}

#[test]
fn a_kept_key_is_used_until_it_is_forgotten() {
    let home = Home::temp();
    let kept = petasos(&home).input("ds-0123456789abcdef\n").run(&[
        "auth",
        "login",
        "deepseek",
        "--key-stdin",
    ]);
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    assert!(kept.stdout.contains("no keyring: there is no desktop session"), "{}", kept.stdout);
    let next = "`petasos provider test --provider deepseek` tries it";
    assert!(kept.stdout.contains(next), "{}", kept.stdout);
    let resolve =
        || petasos(&home).run(&["provider", "resolve", "--provider", "deepseek", "--json"]);
    assert_eq!(resolve().json()["api_key"], "••••cdef");
    let status = petasos(&home).run(&["auth", "status"]).stdout;
    assert!(status.contains("deepseek") && !status.contains("0123456789"), "{status}");
    let other = petasos(&home).run(&["auth", "status", "zai", "--json"]).json();
    assert_eq!(other["credentials"], json!([]));
    let woken = petasos(&home).run(&["auth", "reset", "deepseek", "--json"]).json();
    assert_eq!(woken["woken"], 0);
    let out = petasos(&home).run(&["auth", "logout", "deepseek"]);
    assert!(out.code == Some(0) && !out.stdout.contains("still used"), "{}", out.stdout);
    assert_eq!(resolve().json()["error"]["code"], "missing_api_key");
}

#[test]
fn a_saved_model_is_the_choice_of_every_surface() {
    let home = Home::temp();
    let set = petasos(&home).run(&["model", "set", "some/model", "--provider", "openrouter"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    let resolved = petasos(&home)
        .with("OPENROUTER_API_KEY", "or-0123456789abcdef")
        .run(&["provider", "resolve", "--json"])
        .json();
    assert_eq!(resolved["model"], "some/model");
}

#[test]
fn an_unknown_role_is_bad_usage() {
    let finished = petasos(&Home::temp()).run(&["provider", "resolve", "--role", "nonsense"]);
    assert_eq!(finished.code, Some(2));
}

#[test]
fn a_test_call_tells_what_the_model_can_do() {
    let call = Say::Calls(vec![("report", json!({ "word": "ready" }))]);
    let model = Loopback::saying(vec![call]);
    let home = model.home();
    let tested = petasos(&home).run(&["provider", "test", "--json"]).json();
    assert_eq!(tested["capabilities"]["tools"], "called", "{tested}");
    assert_eq!(tested["capabilities"]["streaming"], true);
    assert!(tested["latency_ms"].is_u64());
    let used = petasos(&home).run(&["provider", "usage", "--json"]).json();
    assert_eq!(used["usage"][0]["role"], "main", "{used}");
    assert_eq!(used["usage"][0]["usage"]["requests"], 1, "{used}");
    let of_nobody = petasos(&home).run(&["provider", "usage", "--session", "nobody"]).stdout;
    assert_eq!(of_nobody.trim(), "nothing was used yet");
}

#[test]
fn a_program_that_is_not_installed_is_named() {
    let home = Home::temp();
    let asked = petasos(&home).with("PETASOS_COPILOT_ACP_COMMAND", "/nowhere/copilot").run(&[
        "provider",
        "test",
        "--provider",
        "copilot-acp",
    ]);
    assert_eq!(asked.code, Some(1));
    assert!(asked.stderr.contains("/nowhere/copilot"), "{}", asked.stderr);
}

/// A home whose endpoint has these lines, and what commands write down about themselves.
fn keyed(model: &Loopback, lines: &str) -> Home {
    let home = Home::temp();
    let config = format!(
        "model:\n  provider: custom:box\n  default: double\nproviders:\n  box:\n    base_url: {}\n{lines}",
        model.url
    );
    home.write(".petasos/config.yaml", config);
    home
}

#[test]
fn a_key_is_printed_by_a_command_once_and_again_when_it_is_refused() {
    let turn = || Say::Calls(vec![("read_file", json!({ "path": "a.txt" }))]);
    let script = vec![turn(), Say::Fail(401), Say::Text("ok")];
    let model = Loopback::saying(script);
    let lines = "    api_key_command: 'echo x >> ~/runs; echo key-number-$(wc -l < ~/runs)'\n";
    let home = keyed(&model, lines);
    home.write("work/a.txt", "one\n");
    let finished = petasos(&home).run(&["run", "go"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ok\n"), "{}", finished.stderr);
    assert_eq!(model.keys(), ["key-number-1", "key-number-1", "key-number-2"]);
    let explained = petasos(&home).run(&["provider", "explain"]).stdout;
    assert!(
        explained.contains("api_key_command") && !explained.contains("key-number"),
        "{explained}"
    );
}

#[test]
fn a_command_that_prints_no_key_is_told_and_nothing_else_is_taken() {
    let model = Loopback::saying(vec![Say::Text("never")]);
    for (command, told) in [
        ("[sh, -c, 'echo the vault is locked >&2; exit 3']", "the vault is locked"),
        ("[no-such-program-anywhere]", "no-such-program-anywhere"),
        ("'true'", "no key"),
    ] {
        let home = keyed(&model, &format!("    api_key_command: {command}\n"));
        let finished =
            petasos(&home).with("OPENAI_API_KEY", "sk-other-0123456789").run(&["run", "go"]);
        assert_eq!((finished.code, model.asked().len()), (Some(1), 0), "{}", finished.stderr);
        assert!(finished.stderr.contains(told), "{command}: {}", finished.stderr);
    }
}

#[test]
fn vaults_of_others_are_asked_by_reference() {
    let model = Loopback::saying(vec![Say::Text("ok"), Say::Text("ok"), Say::Text("ok")]);
    // Stand-ins for the programs, which print what the real ones document.
    let op = "#!/bin/sh\n[ \"$1 $2 $3\" = 'read --no-newline op://Work/Box/key' ] || exit 1\n\
              printf 'from-op-%s' \"$OP_SERVICE_ACCOUNT_TOKEN\"\n";
    let bw =
        "#!/bin/sh\n[ \"$*\" = 'get password box --raw' ] && printf 'from-bw-%s' \"$BW_SESSION\"\n";
    let bws = "#!/bin/sh\n[ \"$*\" = 'secret get 1f --output json' ] || exit 1\n\
               echo \"{\\\"id\\\": \\\"1f\\\", \\\"value\\\": \\\"from-bws-$BWS_ACCESS_TOKEN\\\"}\"\n";
    for (reference, variable, key) in [
        ("op://Work/Box/key", "OP_SERVICE_ACCOUNT_TOKEN", "from-op-secret-one"),
        ("bw://box", "BW_SESSION", "from-bw-secret-one"),
        ("bws://1f", "BWS_ACCESS_TOKEN", "from-bws-secret-one"),
    ] {
        let home = keyed(&model, "    key_env: BOX_KEY\n");
        for (name, script) in [("op", op), ("bw", bw), ("bws", bws)] {
            let file = home.write(&format!("bin/{name}"), script);
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        let path = format!("{}/bin:/usr/bin:/bin", home.user().display());
        let program = petasos(&home).with("PATH", &path).with(variable, "secret-one");
        let finished = program.with("BOX_KEY", reference).run(&["run", "go"]);
        assert_eq!(finished.code, Some(0), "{reference}: {}", finished.stderr);
        assert_eq!(model.keys().last().map(String::as_str), Some(key));
    }
}

#[test]
fn a_key_that_is_not_ours_to_remove_is_named_at_a_logout() {
    let home = Home::temp();
    home.write(".petasos/.env", "DEEPSEEK_API_KEY=ds-0123456789abcdef\n");
    let told = petasos(&home).run(&["auth", "logout", "deepseek"]).stdout;
    assert!(told.contains("DEEPSEEK_API_KEY is still used"), "{told}");
    assert!(told.contains(".petasos/.env"), "{told}");
    let bare = Home::temp();
    let told = petasos(&bare)
        .with("DEEPSEEK_API_KEY", "ds-0123456789abcdef")
        .run(&["auth", "logout", "deepseek"])
        .stdout;
    assert!(told.contains("`unset DEEPSEEK_API_KEY`"), "{told}");
}

#[test]
fn more_patience_is_no_advice_where_nobody_listens() {
    let home = Home::temp();
    // A port that was just free.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "model:\n  provider: custom\n  base_url: http://127.0.0.1:{port}/v1\n  default: double\n"
    );
    home.write(".petasos/config.yaml", config);
    let told = petasos(&home).run(&["provider", "test"]);
    assert_eq!(told.code, Some(1), "{}", told.stdout);
    assert!(told.stderr.contains("check its address, and that it is running"), "{}", told.stderr);
    assert!(!told.stderr.contains("request_timeout_seconds"), "{}", told.stderr);
}
