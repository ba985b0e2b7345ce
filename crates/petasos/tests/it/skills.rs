//! `petasos skills`, and skills in a conversation.

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::petasos;

fn skill(home: &Home, place: &str, more: &str, body: &str) {
    let name = place.rsplit('/').next().unwrap_or(place);
    let text = format!("---\nname: {name}\ndescription: About {name}\n{more}---\n{body}\n");
    home.write(&format!("{place}/SKILL.md"), text);
}

fn last_messages(model: &Loopback) -> String {
    model.asked().last().map(|asked| asked["messages"].to_string()).unwrap_or_default()
}

/// S112: the command agrees to what is there now, and to nothing else.
#[test]
fn s112_a_person_agrees_to_a_projects_skills_by_command() {
    let home = Home::temp();
    skill(&home, "work/.agents/skills/deploy", "", "Run it.");
    let list = || petasos(&home).run(&["skills", "list", "--json"]).json();
    let offered = |list: &Value| {
        let rows = list["skills"].as_array().expect("a list").clone();
        rows.iter().any(|row| row["name"] == "deploy")
    };
    let before = list();
    assert!(!offered(&before), "{before}");
    let why = before["withheld"][0]["why"].as_str().expect("a reason");
    assert!(why.contains("petasos skills trust deploy"), "{why}");
    let nobody = petasos(&home).run(&["skills", "trust", "deploy"]);
    assert_eq!(nobody.code, Some(1), "{}", nobody.stdout);
    let trusted = petasos(&home).run(&["skills", "trust", "--yes", "--json"]).json();
    assert_eq!(trusted["trusted"], json!(["deploy"]));
    assert!(offered(&list()));
    skill(&home, "work/.agents/skills/deploy", "", "Run something else.");
    assert!(!offered(&list()), "a change asks again");
}

#[test]
fn the_prompt_lists_skills_and_a_model_reads_one() {
    let calls = vec![("skills_list", json!({})), ("skill_view", json!({ "name": "weather" }))];
    let model = Loopback::saying(vec![Say::Calls(calls), Say::Text("done")]);
    let home = model.home();
    skill(&home, ".petasos/skills/weather", "", "Ask the station.");
    let ran = petasos(&home).run(&["run", "how warm is it?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let first = model.asked()[0]["messages"][0].to_string();
    assert!(first.contains("- weather: About weather"), "{first}");
    assert!(last_messages(&model).contains("Ask the station."));
    // Without the toolset nothing is listed that could not be read.
    let bare = petasos(&home).run(&["run", "--toolsets", "file", "hello"]);
    assert_eq!(bare.code, Some(0), "{}", bare.stderr);
    assert!(!last_messages(&model).contains("- weather"));
}

/// S116: a command inside a text runs when it is switched on, the skill is the person's own, and
/// policy lets it.
#[test]
fn s116_inline_commands_run_only_when_on_own_and_allowed() {
    let home = Home::temp();
    skill(&home, ".petasos/skills/mine", "", "Today: !`echo in''line`, !`rm -rf ~/`.");
    skill(&home, "work/.claude/skills/theirs", "", "Today: !`echo in''line`.");
    assert_eq!(petasos(&home).run(&["skills", "trust", "--yes"]).code, Some(0));
    let view = |name: &str, on: &str| {
        let args = json!({ "name": name }).to_string();
        let set = format!("skills.inline_shell={on}");
        let told = petasos(&home).run(&["--set", &set, "tools", "call", "skill_view", &args]);
        told.stdout
    };
    assert!(view("mine", "false").contains("!`echo in''line`"));
    let mine = view("mine", "true");
    assert!(mine.contains("Today: inline, [not run]."), "{mine}");
    assert!(view("theirs", "true").contains("!`echo in''line`"));
}

/// S117: a declared variable reaches commands after the grant, for that content of the skill alone.
#[test]
fn s117_a_variable_reaches_a_command_only_after_the_grant() {
    let wants = "required_environment_variables: [WEATHER_STATION, OPENAI_API_KEY]\n";
    let said = |home: &Home, model: &Loopback| {
        let run = petasos(home).with("WEATHER_STATION", "seven").run(&["run", "how warm?"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        last_messages(model)
    };
    let script = || {
        let show = json!({ "command": "echo \"station ${WEATHER_STATION-none}\"" });
        vec![
            Say::Calls(vec![("skill_view", json!({ "name": "weather" }))]),
            Say::Calls(vec![("terminal", show)]),
            Say::Text("done"),
        ]
    };
    let model = Loopback::saying([script(), script(), script()].concat());
    let home = model.home();
    skill(&home, ".petasos/skills/weather", wants, "Ask.");
    let before = said(&home, &model);
    assert!(before.contains("station none") && before.contains("allow-env weather"), "{before}");
    let allow = |name: &str| petasos(&home).run(&["skills", "allow-env", "weather", name]);
    assert_eq!(allow("WEATHER_STATION").code, Some(0));
    assert_eq!(allow("OPENAI_API_KEY").code, Some(1), "a provider's key is never passed");
    assert_eq!(allow("HOME_PAGE").code, Some(1), "it does not ask for it");
    assert!(said(&home, &model).contains("station seven"));
    skill(&home, ".petasos/skills/weather", wants, "Ask, and send it away.");
    assert!(said(&home, &model).contains("station none"), "a change takes the grant back");
}

/// S118: `/NAME words` is the person's turn with the skill before it; built-in commands win, and
/// `/skill:NAME` always means the skill.
#[test]
fn s118_a_skill_is_called_by_its_name() {
    let model = Loopback::saying(vec![Say::Text("brewed"), Say::Text("helped"), Say::Text("both")]);
    let home = model.home();
    skill(&home, ".petasos/skills/tea", "", "Boil in ${PETASOS_SKILL_DIR}.");
    skill(&home, ".petasos/skills/help", "", "Help with tea.");
    let config = home.agent().join("config.yaml");
    let had = std::fs::read_to_string(&config).expect("a configuration");
    home.write(".petasos/config.yaml", format!("{had}bundles:\n  breakfast: [tea, help]\n"));
    let said = |line: &str| petasos(&home).run(&["run", line]);
    let tea = said("/tea two cups, please");
    assert_eq!((tea.code, tea.stdout.trim()), (Some(0), "brewed"), "{}", tea.stderr);
    let sent = last_messages(&model);
    let folder = home.agent().join("skills/tea").display().to_string();
    assert!(sent.contains(&format!("Boil in {folder}.")), "{sent}");
    assert!(sent.contains("two cups, please"), "{sent}");
    let sessions = petasos(&home).run(&["sessions", "list", "--json"]).stdout;
    assert!(!sessions.contains("Boil in"), "{sessions}");
    assert_eq!(said("/skill:help me").stdout.trim(), "helped");
    assert!(last_messages(&model).contains("Help with tea."));
    assert_eq!(said("/breakfast now").stdout.trim(), "both");
    let sent = last_messages(&model);
    assert!(sent.contains("Boil in") && sent.contains("Help with tea."), "{sent}");
    let missing = said("/skill:nothing at all");
    assert!(missing.code == Some(1) && missing.stderr.contains("no skill is named"));
    said("/help");
    assert!(!last_messages(&model).contains("Help with tea."), "a built-in command wins");
    let usage = std::fs::read_to_string(home.agent().join("skills/.usage.json")).expect("counts");
    let usage: Value = serde_json::from_str(&usage).expect("JSON");
    assert_eq!((&usage["tea"]["use_count"], &usage["help"]["use_count"]), (&json!(2), &json!(2)));
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test makes the repository that it installs from"
)]
fn git(folder: &std::path::Path, words: &[&str]) -> String {
    let ran = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@e.example",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(words)
        .current_dir(folder)
        .output()
        .expect("git runs");
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// S120: a skill from a git repository is reviewed, pinned to its commit, locked and noted; what a
/// repository does on checkout does not happen.
#[test]
fn s120_a_skill_is_installed_from_git_and_pinned() {
    let home = Home::temp();
    let origin = home.user().join("origin.git");
    std::fs::create_dir(&origin).expect("a folder");
    skill(&home, "origin.git/skills/tea", "required_environment_variables: [TEA_KEY]\n", "Boil.");
    skill(&home, "origin.git/skills/coffee", "", "Grind.");
    home.write("origin.git/skills/tea/scripts/boil.sh", "#!/bin/sh\necho hot\n");
    git(&origin, &["init", "-q"]);
    git(&origin, &["add", "."]);
    git(&origin, &["commit", "-qm", "tea"]);
    let commit = git(&origin, &["rev-parse", "HEAD"]);
    let address = format!("file://{}", origin.display());
    let from = format!("{address}/skills/tea");
    let run = |words: &[&str]| petasos(&home).run(&[&["skills"], words].concat());
    let all = run(&["install", &address, "--json"]).json();
    assert_eq!(all["error"]["code"], "ambiguous", "{all}");
    let unsaid = run(&["install", &from]);
    assert_eq!(unsaid.code, Some(1), "{}", unsaid.stdout);
    assert!(unsaid.stderr.contains("scripts/boil.sh") && unsaid.stderr.contains("TEA_KEY"));
    let wrong = run(&["install", &from, "--confirm", "coffee"]);
    assert_ne!(wrong.code, Some(0));
    assert!(!home.agent().join("skills/tea").exists(), "nothing before consent");
    let done = run(&["install", &from, "--confirm", "tea", "--allow-env", "TEA_KEY", "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let lock = std::fs::read_to_string(home.agent().join("skills/.hub/lock.json")).expect("a lock");
    let lock: Value = serde_json::from_str(&lock).expect("JSON");
    let tea = &lock["installed"]["tea"];
    assert_eq!((&tea["revision"], &tea["source"]), (&json!(commit), &json!("git")), "{lock}");
    assert_eq!((&tea["identifier"], &tea["trust_level"]), (&json!(from), &json!("community")));
    let audit = std::fs::read_to_string(home.agent().join("skills/.hub/audit.log")).expect("a log");
    let words: Vec<&str> = audit.split_whitespace().collect();
    let hash = tea["content_hash"].as_str().expect("a digest");
    assert_eq!(words[1..], ["INSTALL", "tea", "git:community", "safe", hash], "{audit}");
    let left = std::fs::read_dir(home.agent().join("skills/.hub/quarantine")).expect("it is there");
    assert_eq!(left.count(), 0, "the quarantine is empty");
    assert_eq!(run(&["verify", "--json"]).json()["skills"]["tea"], "ok");
    assert_eq!(run(&["update", "--json"]).json()["skills"][0]["state"], "up to date");
    skill(&home, "origin.git/skills/tea", "", "Steep.");
    git(&origin, &["commit", "-qam", "steep"]);
    let asked = run(&["update", "tea"]);
    assert!(asked.code == Some(1) && asked.stderr.contains("+Steep."), "{}", asked.stderr);
    assert_eq!(run(&["update", "tea", "--confirm", "tea"]).code, Some(0));
    home.write(".petasos/skills/tea/SKILL.md", "---\nname: tea\ndescription: x\n---\nchanged\n");
    assert_eq!(run(&["verify"]).code, Some(1));
    assert_eq!(run(&["uninstall", "tea"]).code, Some(0));
    assert!(!home.agent().join("skills/tea").exists());
}

/// S16, S123: a place of this machine's network is not reached, and a link is not installed.
#[test]
fn s123_private_addresses_and_links_are_refused() {
    let home = Home::temp();
    let install = |from: &str| petasos(&home).run(&["skills", "install", from, "--json"]).json();
    for from in
        ["http://127.0.0.1:9/x.git/tea", "http://127.0.0.1:9/SKILL.md", "http://[::1]:9/x.zip"]
    {
        let told = install(from);
        assert!(told["error"].is_object(), "{from}: {told}");
        assert!(
            told.to_string().contains("not reached") || told.to_string().contains("blocked"),
            "{told}"
        );
    }
    let origin = home.user().join("odd.git");
    std::fs::create_dir(&origin).expect("a folder");
    skill(&home, "odd.git/tea", "", "Boil.");
    std::os::unix::fs::symlink("/etc/passwd", origin.join("tea/passwd")).expect("a link");
    git(&origin, &["init", "-q"]);
    git(&origin, &["add", "."]);
    git(&origin, &["commit", "-qm", "odd"]);
    let told = install(&format!("file://{}/tea", origin.display()));
    assert!(told["error"].to_string().contains("a link"), "{told}");
    let folder = install(&origin.join("tea").display().to_string());
    assert!(folder["error"].to_string().contains("a link"), "{folder}");
    assert!(!home.agent().join("skills/tea").exists());
}
