//! One rule at every door: file tools, commands and programs, through links and `..`.

use std::os::unix::fs::symlink;
use std::path::Path;

use petasos_approval::Engine;
use petasos_contract::approval::{Scope, Verdict};
use petasos_contract::context::Surface;
use petasos_contract::effect::{Effect, Effects};
use serde_json::json;

use super::{Place, empty, judge, keys, shell, word, write_file};

fn write(engine: &Engine, path: &Path, cx: &petasos_contract::CallContext) -> Verdict {
    judge(engine, "write_file", &Effects::one(Effect::Write(path.to_owned())), cx)
}

#[test]
fn one_rule_three_doors() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let keys_file = place.user().join(".ssh/authorized_keys");
    let source = format!("open('{}', 'w').write('x')", keys_file.display());
    let code =
        Effects::one(Effect::Code { language: "python".to_owned(), source, cwd: place.work() });
    let by_tool = write(&engine, &keys_file, &cx);
    let by_shell = shell(&engine, "cp k ~/.ssh/authorized_keys", &cx);
    let by_code = judge(&engine, "execute_code", &code, &cx);
    assert_eq!(word(&by_tool), "ask");
    for other in [by_shell, by_code] {
        assert_eq!(word(&other), "ask");
        assert_eq!(keys(&other), keys(&by_tool));
    }
}

#[test]
fn links_and_dots_lead_to_the_same_verdict() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let direct = write(&engine, &place.user().join(".ssh/authorized_keys"), &cx);
    symlink(place.user().join(".ssh"), place.work().join("door")).unwrap();
    symlink(place.user().join(".ssh/authorized_keys"), place.work().join("notes.txt")).unwrap();
    for path in ["door/authorized_keys", "notes.txt", "../ada/.ssh/authorized_keys"] {
        let verdict = write(&engine, &place.work().join(path), &cx);
        assert_eq!(keys(&verdict), keys(&direct), "{path}");
    }
    for script in
        ["echo x > notes.txt", "cp k door/authorized_keys", "tee ./door/authorized_keys < k"]
    {
        let verdict = shell(&engine, script, &cx);
        assert_eq!(keys(&verdict), keys(&direct), "{script}");
    }
    assert_eq!(write(&engine, &place.work().join("plain.txt"), &cx), Verdict::Allow);
}

#[test]
fn elsewhere_links_of_this_machine_mean_nothing() {
    let place = Place::new();
    let engine = Engine::default();
    symlink(place.user().join(".ssh"), place.work().join("door")).unwrap();
    let cx = place.cx(&json!({"terminal": {"backend": "ssh"}}));
    let path = place.work().join("door/authorized_keys");
    assert_eq!(write(&engine, &path, &cx), Verdict::Allow);
}

#[test]
fn the_agents_own_files_are_asked_about_every_time_and_denied_unattended() {
    let place = Place::new();
    let engine = Engine::default();
    let values = json!({
        "approvals": {"mode": "off", "cron_mode": "approve", "headless_mode": "approve"},
        "command_allowlist": ["write to agent settings"],
        "permissions": {"allow": [{"tool": "*"}]},
    });
    let cx = place.cx(&values);
    for name in [
        "config.yaml",
        ".env",
        "hooks/x.sh",
        "grants.json",
        "approvals/x.json",
        "logs/decisions.jsonl",
    ] {
        let Verdict::Ask(findings) = write(&engine, &place.home().join(name), &cx) else {
            panic!("{name} is not asked about")
        };
        assert!(findings.iter().all(|finding| finding.widest == Scope::Once), "{name}");
        let script = format!("echo x > {}", place.home().join(name).display());
        assert_eq!(word(&shell(&engine, &script, &cx)), "ask", "{script}");
        let cron = place.cx_on(Surface::Cron, &values, &[]);
        assert_eq!(word(&write(&engine, &place.home().join(name), &cron)), "block", "{name}");
    }
    let harmless = place.home().join("skills/mine.md");
    assert_eq!(write(&engine, &harmless, &cx), Verdict::Allow);
    let script = format!("rm -r {}", place.home().display());
    assert_eq!(word(&shell(&engine, &script, &cx)), "ask");
}

#[test]
fn the_agents_own_keys_are_read_only_with_a_person_each_time() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&json!({
        "approvals": {"mode": "off"},
        "command_allowlist": ["read of a secret"],
    }));
    let path = place.home().join(".env");
    let read = Effects::one(Effect::Read(path.clone()));
    assert_eq!(word(&judge(&engine, "read_file", &read, &cx)), "ask");
    assert_eq!(word(&shell(&engine, &format!("cat {}", path.display()), &cx)), "ask");
    let other = Effects::one(Effect::Read(place.user().join(".netrc")));
    assert_eq!(judge(&engine, "read_file", &other, &cx), Verdict::Allow);
}

#[test]
fn a_project_may_have_its_own_dotenv() {
    let place = Place::new();
    let cx = place.cx(&empty());
    for name in [".env", "config.yaml", "sub/.env.local"] {
        assert_eq!(
            write(&Engine::default(), &place.work().join(name), &cx),
            Verdict::Allow,
            "{name}"
        );
    }
}

#[test]
fn nothing_is_written_outside_the_safe_root() {
    let place = Place::new();
    let engine = Engine::default();
    let root = place.work().join("safe");
    write_file(&root.join("a"), "");
    symlink(place.work(), root.join("out")).unwrap();
    let variables = [("HERMES_WRITE_SAFE_ROOT", root.to_str().unwrap())];
    let cx = place.cx_on(Surface::Cli, &json!({"approvals": {"mode": "off"}}), &variables);
    for (path, expected) in [
        ("safe/b", "allow"),
        ("safe/x/y", "allow"),
        ("b", "block"),
        ("safe/../b", "block"),
        ("safe/out/b", "block"),
        ("safer", "block"),
    ] {
        let verdict = write(&engine, &place.work().join(path), &cx);
        assert_eq!(word(&verdict), expected, "{path}");
    }
    assert_eq!(word(&shell(&engine, "echo x > b", &cx)), "block");
    assert_eq!(word(&shell(&engine, "echo x > safe/b 2>/dev/null", &cx)), "allow");
}

#[test]
fn a_directory_counts_for_what_it_really_is() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let link = place.work().join("link");
    std::os::unix::fs::symlink(place.user(), &link).unwrap();
    let at = |cwd: &std::path::Path, script: &str| {
        let script = script.to_owned();
        let effects = Effects::one(Effect::Command { script, cwd: cwd.to_path_buf() });
        word(&judge(&engine, "terminal", &effects, &cx))
    };
    assert_eq!(at(&link, "rm -rf *"), "block");
    assert_eq!(at(&place.user(), "rm -rf ./*"), "block");
    assert_eq!(at(&place.work(), "rm -rf *"), "ask");
    assert_eq!(at(&link, "echo x >> .bashrc"), "ask");
    let source = "open('.bashrc', 'a').write('x')".to_owned();
    let code = Effect::Code { language: "python".to_owned(), source, cwd: place.user() };
    assert_eq!(word(&judge(&engine, "execute_code", &Effects::one(code), &cx)), "ask");
}

#[test]
fn everything_in_the_home_is_asked_about_but_a_few_folders() {
    let place = Place::new();
    let engine = Engine::default();
    // Not even where everything else is waived.
    let cx = place.cx(&json!({"approvals": {"mode": "off"}}));
    for name in [
        "petasos.db",
        "petasos.db-wal",
        "processes.json",
        "jobs/1.log",
        "memories/MEMORY.md",
        "SOUL.md",
        "cron/jobs.json",
        "scripts/a.sh",
        "checkpoints/x",
        ".anthropic_oauth.json",
        "profiles/work/petasos.db",
        "something new",
        "logs/decisions.jsonl",
    ] {
        let path = place.home().join(name);
        let Verdict::Ask(findings) = write(&engine, &path, &cx) else { panic!("{name}") };
        assert!(findings.iter().all(|it| it.widest == Scope::Once), "{name}: {findings:?}");
        for script in ["rm '{}'", "echo x > '{}'"] {
            let script = script.replace("{}", &path.display().to_string());
            assert_eq!(word(&shell(&engine, &script, &cx)), "ask", "{script}");
        }
    }
    for name in ["skills/mine/SKILL.md", "cache/x", "profiles/work/skills/a"] {
        assert_eq!(write(&engine, &place.home().join(name), &cx), Verdict::Allow, "{name}");
    }
}
