//! What one call leaves behind counts for the next: exports, files that were written, scripts.

use std::path::Path;

use petasos_approval::Engine;
use petasos_contract::approval::{Intent, Policy as _, Scope, Verdict};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::environment::Exports;
use petasos_contract::plan::Pin;
use petasos_contract::{CallContext, Plan, ToolName};
use sha2::{Digest as _, Sha256};

use super::{Place, command, empty, judge, settle, shell, word, write_file, yes};

/// Judges a command of a session that exported something.
fn exported(engine: &Engine, exports: Exports, script: &str, cx: &CallContext) -> Verdict {
    let mut plan = Plan::default().with_effects(command(script, cx));
    plan.exports = exports;
    engine.judge(&Intent { tool: &ToolName::new("terminal"), plan: &plan, escalated: &[] }, cx)
}

/// Writes a file as a call of the agent.
fn agent_writes(engine: &Engine, path: &Path, text: &str, cx: &CallContext) {
    let script = format!("cp draft {}", path.display());
    settle(engine, &script, &yes(Scope::Once), cx);
    write_file(path, text);
}

#[test]
fn what_was_exported_before_counts() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let config = place.home().join("config.yaml").display().to_string();
    write_file(&place.work().join("env.sh"), "rm -rf ~/x\n");
    let env = place.work().join("env.sh").display().to_string();
    assert_eq!(word(&shell(&engine, "echo x >> \"$G\"", &cx)), "allow");
    for (name, value, script, expected) in [
        ("G", config.as_str(), "echo x >> \"$G\"", "ask"),
        ("G", config.as_str(), "echo $G", "allow"),
        ("D", "/", "rm -rf \"$D\"", "block"),
        ("BASH_ENV", env.as_str(), "ls", "ask"),
        ("GIT_CONFIG_VALUE_0", "!rm -rf v", "git x", "ask"),
        ("NODE_OPTIONS", "--max-old-space-size=4096", "npm test", "allow"),
        ("PAGER", "less -R", "git log", "allow"),
        ("EDITOR", "vim", "git commit", "allow"),
        ("LD_PRELOAD", "/home/ada/x.so", "ls", "ask"),
    ] {
        let exports = [(name.to_owned(), value.to_owned())].into();
        let judged = exported(&engine, exports, script, &cx);
        assert_eq!(word(&judged), expected, "{name}={value}: {script}");
    }
}

#[test]
fn what_the_agent_wrote_is_judged_as_if_typed_and_what_others_wrote_is_a_program() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let at = |name: &str| place.work().join(name);
    for (name, text) in [
        ("own.sh", "rm -rf build\n"),
        ("own.py", "import shutil\nshutil.rmtree('build')\n"),
        ("profile.sh", "echo x >> ~/.bashrc\n"),
        ("wipe.sh", "cd / && rm -rf *\n"),
        ("Makefile", "clean:\n\trm -rf build\n"),
    ] {
        write_file(&at(name), text);
    }
    for (script, theirs, ours) in [
        ("bash own.sh", "allow", "ask"),
        ("./own.sh", "allow", "ask"),
        ("source own.sh", "allow", "ask"),
        ("python3 own.py", "allow", "ask"),
        ("make clean", "allow", "ask"),
        ("bash profile.sh", "ask", "ask"),
        ("bash wipe.sh", "block", "block"),
    ] {
        assert_eq!(word(&shell(&engine, script, &cx)), theirs, "{script}, of the project");
        let session = CallContext { session: script.into(), ..cx.clone() };
        for name in ["own.sh", "own.py", "profile.sh", "wipe.sh", "Makefile"] {
            let text = std::fs::read_to_string(at(name)).unwrap();
            agent_writes(&engine, &at(name), &text, &session);
        }
        assert_eq!(word(&shell(&engine, script, &session)), ours, "{script}, of the agent");
    }
    // By a file tool, and in another session.
    let write = Effects::one(Effect::Write(at("late.sh")));
    let late = CallContext { session: "late".into(), ..cx.clone() };
    assert_eq!(judge(&engine, "write_file", &write, &late), Verdict::Allow);
    agent_writes(&engine, &at("late.sh"), "rm -rf build\n", &late);
    assert_eq!(word(&shell(&engine, "sh late.sh", &late)), "ask");
    assert_eq!(word(&shell(&engine, "sh late.sh", &cx)), "allow");
}

#[test]
fn a_script_that_was_read_to_judge_a_call_is_pinned() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let script = place.work().join("build.sh");
    write_file(&script, "make\n");
    assert_eq!(shell(&engine, "bash build.sh", &cx), Verdict::Allow);
    let sha256 = Sha256::digest(b"make\n").into();
    let path = script.canonicalize().unwrap();
    assert_eq!(engine.reading(&cx).pins, [Pin::Content { path, sha256 }]);
    assert_eq!(engine.reading(&cx).pins, []);
    write_file(&script, "rm -rf ~\n");
    assert_eq!(word(&shell(&engine, "bash build.sh", &cx)), "block");
    assert!(!command("ls", &cx).is_empty());
}

#[test]
fn what_is_typed_into_a_program_is_judged_as_that_program_reads_it() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    for (program, typed, expected) in [
        ("bash", "rm -rf victim", "ask"),
        ("bash", "cd ~\necho evil >> .bashrc", "ask"),
        ("bash", "alias zz='rm -rf'\nzz victim", "ask"),
        ("bash", "ls -la", "allow"),
        ("python3 -i", "print(6*7)", "allow"),
        ("python3 -i", "import shutil; shutil.rmtree('x')", "ask"),
        ("psql app", "DELETE FROM t;", "ask"),
        ("psql app", "SELECT count(*) FROM t;", "allow"),
        ("npm init", "it's fine", "allow"),
        ("cat", "rm -rf /", "allow"),
    ] {
        let script = format!("{program} <<'PETASOS_TYPED'\n{typed}\nPETASOS_TYPED");
        assert_eq!(word(&shell(&engine, &script, &cx)), expected, "{program}: {typed}");
    }
}
