//! `petasos gateway` from outside: what it says without settings, who is let in, the emergency stop.

use petasos_testkit::{Home, Program};
use serde_json::Value;

use crate::loopback::{Loopback, Say};

fn petasos(home: &Home) -> Program {
    Program::new(env!("CARGO_BIN_EXE_petasos"), home)
}

#[test]
fn a_gateway_without_platforms_says_what_to_do() {
    let home = Home::temp();
    let ran = petasos(&home).run(&["gateway", "run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("no platform is configured")
            && ran.stderr.contains("gateway platforms"),
        "{}",
        ran.stderr
    );
    let listed = petasos(&home).run(&["gateway", "platforms", "--json"]).json();
    let names: Vec<&str> = listed["platforms"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "bluebubbles",
            "dingtalk",
            "discord",
            "email",
            "feishu",
            "homeassistant",
            "irc",
            "matrix",
            "mattermost",
            "mqtt",
            "ntfy",
            "qqbot",
            "signal",
            "slack",
            "sms",
            "telegram",
            "wecom",
            "wecom_callback",
            "weixin",
            "whatsapp",
            "whatsapp_cloud",
            "xmpp",
            "yuanbao",
        ]
    );
    let status = petasos(&home).run(&["gateway", "status"]);
    assert_eq!(status.code, Some(3), "{}", status.stdout);
}

#[test]
fn settings_that_cannot_be_used_end_the_start_with_78() {
    let home = Home::temp();
    let ran = petasos(&home)
        .with("TELEGRAM_BOT_TOKEN", "1:a")
        .with("TELEGRAM_ALLOWED_USERS", "Una the Great")
        .run(&["gateway", "run"]);
    assert_eq!(ran.code, Some(78), "{}", ran.stderr);
    assert!(ran.stderr.contains("display names never let anybody in"), "{}", ran.stderr);
}

#[test]
fn s14_explain_names_the_rule_that_decides() {
    let home = Home::temp();
    let explain = |variables: &[(&str, &str)], user: &str| -> Value {
        let mut program = petasos(&home);
        for (name, value) in variables {
            program = program.with(name, value);
        }
        program
            .run(&["gateway", "explain", "--platform", "telegram", "--user", user, "--json"])
            .json()
    };
    let listed = explain(&[("TELEGRAM_ALLOWED_USERS", "7")], "7");
    assert_eq!(
        (&listed["class"], &listed["rule"]),
        (&"admin".into(), &"the list of this platform".into())
    );
    let stranger = explain(&[("TELEGRAM_ALLOWED_USERS", "7")], "8");
    assert_eq!((&stranger["class"], &stranger["strangers"]), (&Value::Null, &"ignore".into()));
    let nobody = explain(&[], "8");
    assert_eq!((&nobody["class"], &nobody["strangers"]), (&Value::Null, &"pair".into()));
}

#[test]
fn s144_the_unit_holds_no_secret_and_is_written_once() {
    let home = Home::temp();
    let install =
        || petasos(&home).with("TELEGRAM_BOT_TOKEN", "1:verysecret").run(&["gateway", "install"]);
    let first = install();
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let unit = home.user().join(".config/systemd/user/petasos-gateway.service");
    let text = std::fs::read_to_string(&unit).unwrap();
    assert!(
        text.contains("Type=notify")
            && text.contains("RestartPreventExitStatus=78")
            && !text.contains("verysecret"),
        "{text}"
    );
    assert!(install().stdout.contains("as it should be"));
    verified(&unit);
    assert_eq!(petasos(&home).run(&["gateway", "uninstall"]).code, Some(0));
    assert!(!unit.exists());
}

/// The unit as systemd itself reads it: nothing unknown, nothing that it would leave out.
#[expect(clippy::disallowed_methods, reason = "a test starts programs of its own")]
fn verified(unit: &std::path::Path) {
    let check = std::process::Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no"])
        .arg(unit)
        .env("XDG_RUNTIME_DIR", unit.parent().unwrap_or(unit))
        .output();
    let Ok(check) = check else {
        petasos_testkit::skip("s144", "systemd-analyze", "the program is not there");
        return;
    };
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(check.status.success() && !said.contains("petasos-gateway"), "{said}");
}

#[test]
fn no_tool_runs_between_stop_and_resume() {
    let model = Loopback::saying(vec![
        Say::Calls(vec![("terminal", serde_json::json!({ "command": "touch made" }))]),
        Say::Text("stopped"),
        Say::Calls(vec![("terminal", serde_json::json!({ "command": "touch made" }))]),
        Say::Text("went on"),
    ]);
    let home = model.home();
    let stop = petasos(&home).run(&["stop", "--all"]);
    assert_eq!(stop.code, Some(0), "{}", stop.stderr);
    let ran = petasos(&home).run(&["run", "--yolo", "make it"]);
    assert!(!home.workspace().join("made").exists(), "{}", ran.stdout);
    assert_eq!(petasos(&home).run(&["resume"]).code, Some(0));
    let ran = petasos(&home).run(&["run", "--yolo", "make it"]);
    assert!(home.workspace().join("made").exists(), "{} {}", ran.stdout, ran.stderr);
}

/// IRC, XMPP, MQTT and ntfy have no toolset of their own in the table: they have the common tools,
/// and not none at all.
#[test]
fn s81_a_platform_without_a_toolset_of_its_own_has_the_common_tools() {
    let home = Home::temp();
    for platform in ["irc", "xmpp", "mqtt", "ntfy", "telegram"] {
        let listed = petasos(&home).run(&["tools", "list", "--surface", platform, "--json"]);
        let tools = listed.json()["tools"].as_array().cloned().unwrap_or_default();
        let named = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        assert!(named("terminal") && named("read_file"), "{platform}: {}", listed.stdout);
    }
}
