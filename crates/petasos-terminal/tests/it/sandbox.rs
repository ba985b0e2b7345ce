//! Attempts to reach out of the sandbox, each with what must come of it.

mod attempts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petasos_contract::environment::Environments;
use petasos_contract::environment::Health;
use petasos_contract::terminal::{Ended, Terminal};
use serde_json::json;

use crate::stage::{Stage, command};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Expect {
    /// It works.
    Done,
    /// It does not, and the canary file outside is as it was.
    Refused,
}
use Expect::{Done, Refused};
use attempts::ATTEMPTS;

/// Asks whoever listens at a socket for a word.
const SPEAK: &str = "python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.settimeout(5); \
    s.connect(sys.argv[1]); s.recv(1)' ";
/// Makes a system call; anything but a refusal for want of rights is a success.
const SYSCALL: &str = "python3 -c 'import ctypes,sys; l=ctypes.CDLL(None,use_errno=True); \
    l.syscall(*map(int,sys.argv[1:])); sys.exit(ctypes.get_errno()==1)' ";
/// A command's own socket, with both ends inside.
const OWN: &str = "python3 -c 'import socket; a=socket.socket(socket.AF_UNIX); a.bind(\"own.sock\"); \
    a.listen(); b=socket.socket(socket.AF_UNIX); b.connect(\"own.sock\")'";

/// With bubblewrap a command has process numbers of its own: these reach only each other, and do.
const AMONG_THEMSELVES: &[&str] = &[
    "kill -TERM $PPID",
    "echo x > /proc/$PPID/comm",
    "tr -d '\\0' < /proc/$PPID/environ | grep -q .",
    "readlink /proc/$PPID/fd/3",
];

fn stage(level: &str, by: &str) -> Stage {
    let network = !level.ends_with("-offline");
    let level = level.trim_end_matches("-offline");
    let terminal = json!({ "sandbox": level, "sandbox_network": network, "sandbox_by": by });
    let stage = Stage::with(&terminal);
    let own = stage.home.path().join("petasos");
    for folder in [own.join("hooks"), stage.path().join(".petasos"), stage.home.path().join("out")]
    {
        std::fs::create_dir_all(folder).unwrap();
    }
    for (file, text) in [
        (own.join("config.yaml"), "mine"),
        (stage.home.path().join("out/canary"), "canary"),
        (stage.path().join("inside-seed"), "seed"),
    ] {
        std::io::Write::write_all(&mut std::fs::File::create(file).unwrap(), text.as_bytes())
            .unwrap();
    }
    for git in [".git", "sub/nested/.git", ".git/modules/lib"] {
        let git = stage.path().join(git);
        std::fs::create_dir_all(git.join("hooks")).unwrap();
        std::fs::File::create(git.join("hooks/sample")).unwrap();
        std::fs::File::create(git.join("config")).unwrap();
    }
    std::fs::create_dir_all(stage.path().join("worktree")).unwrap();
    std::fs::File::create(stage.path().join("worktree/.git")).unwrap();
    stage
}

/// Somebody outside who answers whoever comes.
fn listen(at: &std::path::Path) {
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(at).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::io::Write::write_all(&mut stream, b"x").unwrap_or_default();
        }
    });
}

/// A script with the shorthands of the table written out.
fn written_out(script: &str, stage: &Stage) -> String {
    if let Some(call) = script.strip_prefix("SYSCALL(").and_then(|rest| rest.strip_suffix(')')) {
        return format!("{SYSCALL}{}", call.replace(',', ""));
    }
    let Some(path) = script.strip_prefix("SPEAK('").and_then(|rest| rest.strip_suffix("')")) else {
        return script.replace("OWN", OWN);
    };
    let home = stage.home.path();
    let path = path.replace("HOME", &home.display().to_string());
    let path = path.replace("TMP", &home.join("tmp").display().to_string());
    listen(std::path::Path::new(&path));
    format!("{SPEAK}{path}")
}

async fn attempt((level, by): (&str, &str), script: &str, port: u16) -> (Ended, String, String) {
    let stage = stage(level, by);
    let out = stage.home.path().join("out");
    let before = listing(&out);
    let text = format!(
        "OUT={}; TMP_OK={}; {}",
        out.display(),
        stage.home.path().join("tmp").display(),
        written_out(script, &stage).replace("PORT", &port.to_string())
    );
    if script.starts_with("git init") {
        std::fs::remove_dir_all(stage.path().join(".git")).unwrap();
    }
    let script = format!(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; {text}"
    );
    let ran = stage.run(&script).await;
    assert_eq!(listing(&out), before, "{script} reached outside");
    assert_eq!(
        std::fs::read_to_string(stage.home.path().join("petasos/config.yaml")).unwrap(),
        "mine"
    );
    assert!(!stage.path().join(".git/hooks/pre-commit").exists(), "{script} made a hook");
    assert!(!stage.path().join(".petasos/config.yaml").exists(), "{script}");
    assert!(!stage.path().join(".hermes/config.yaml").exists(), "{script}");
    for config in ["sub/nested/.git/config", ".git/modules/lib/config", "worktree/.git"] {
        let text = std::fs::read(stage.path().join(config)).unwrap_or_default();
        assert!(text.is_empty(), "{script} changed {config}");
    }
    (ran.ended, ran.output, ran.confinement)
}

/// Names, modes, times and contents of what is outside.
fn listing(folder: &std::path::Path) -> Vec<(String, u32, i64, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt;
    let mut rows: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| {
            let known = entry.metadata().unwrap();
            let content = std::fs::read(entry.path()).unwrap_or_default();
            (entry.file_name().to_string_lossy().into_owned(), known.mode(), known.mtime(), content)
        })
        .collect();
    rows.sort();
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_to_reach_out_ends_as_expected() {
    let test = "every_attempt_to_reach_out_ends_as_expected";
    if let Some(by) = landlock(test).await {
        all_end_as_expected(by, "landlock").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bubblewrap_refuses_the_same_where_landlock_is_not_to_be_had() {
    let test = "bubblewrap_refuses_the_same_where_landlock_is_not_to_be_had";
    if let Some(by) = bubblewrap(test).await {
        all_end_as_expected(by, "bwrap").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_that_come_and_go_keep_no_confined_command_from_starting() {
    let test = "sockets_that_come_and_go_keep_no_confined_command_from_starting";
    if bubblewrap(test).await.is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let busy = Arc::new(AtomicBool::new(true));
    let (at, goes_on) = (folder.path().to_path_buf(), Arc::clone(&busy));
    let others = std::thread::spawn(move || {
        for number in (0..50).cycle() {
            if !goes_on.load(Ordering::Relaxed) {
                return;
            }
            let path = at.join(number.to_string());
            let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
            std::thread::sleep(Duration::from_millis(2));
            drop(listener);
            std::fs::remove_file(&path).unwrap();
        }
    });
    for by in ["bwrap", "auto"] {
        let stage = stage("workspace-offline", by);
        for _ in 0..12 {
            let ran = stage.run("true").await;
            assert_eq!(ran.ended, Ended::Exited(0), "{by}: {}", ran.output);
        }
    }
    busy.store(false, Ordering::Relaxed);
    others.join().unwrap();
}

#[test]
fn an_ordinary_user_is_confined_by_landlock() {
    as_user("an_ordinary_user_is_confined_by_landlock", "sandbox::landlock_as_this_user");
}

#[test]
fn an_ordinary_user_is_confined_by_bubblewrap() {
    as_user("an_ordinary_user_is_confined_by_bubblewrap", "sandbox::bubblewrap_as_this_user");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "helper process: started as another user"]
async fn landlock_as_this_user() {
    if let Some(by) = landlock("an_ordinary_user_is_confined_by_landlock").await {
        all_end_as_expected(by, "landlock").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "helper process: started as another user"]
async fn bubblewrap_as_this_user() {
    if let Some(by) = bubblewrap("an_ordinary_user_is_confined_by_bubblewrap").await {
        all_end_as_expected(by, "bwrap").await;
    }
}

/// Runs a test of this program as a user without rights, when this one is root.
#[expect(clippy::disallowed_methods, reason = "another user's program is what this is about")]
fn as_user(test: &str, helper: &str) {
    use std::os::unix::fs::PermissionsExt;
    let is_root = std::fs::read_to_string("/proc/self/status").unwrap().contains("Uid:\t0\t");
    if !is_root || !std::path::Path::new("/usr/bin/setpriv").exists() {
        petasos_testkit::skip(test, "root", "only root becomes another user");
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = std::env::current_exe().unwrap();
    let copy = folder.path().join("program");
    std::fs::hard_link(&program, &copy)
        .or_else(|_| std::fs::copy(&program, &copy).map(drop))
        .unwrap();
    let ran = std::process::Command::new("/usr/bin/setpriv")
        .args(["--reuid", "54321", "--regid", "54321", "--clear-groups", "--"])
        .arg(&copy)
        .args(["--ignored", "--exact", "--nocapture", helper])
        .env("TMPDIR", "/tmp")
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}

async fn landlock(test: &str) -> Option<&'static str> {
    let probe = stage("workspace", "auto");
    let environment = probe.engine.of(&probe.cx()).await.unwrap();
    let Health::Ready { detail } = environment.health().await else { return None };
    if detail.contains("landlock") && detail.contains("mount namespace") {
        return Some("auto");
    }
    petasos_testkit::skip(test, "landlock", &format!("this kernel offers only {detail}"));
    None
}

async fn bubblewrap(test: &str) -> Option<&'static str> {
    let probe = stage("workspace", "bwrap").run("true").await;
    if probe.confinement.contains("bwrap,") {
        return Some("bwrap");
    }
    petasos_testkit::skip(test, "bwrap", &probe.confinement);
    None
}

async fn all_end_as_expected(by: &str, named: &str) {
    assert!(ATTEMPTS.len() >= 80);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut wrong = Vec::new();
    for (level, script, expected) in ATTEMPTS {
        if script.starts_with("SYSCALL") && !cfg!(target_arch = "x86_64") {
            continue;
        }
        let (ended, output, confinement) = attempt((level, by), script, port).await;
        assert!(confinement.contains(named), "{confinement}");
        let found = if ended == Ended::Exited(0) { Done } else { Refused };
        let is_harmless = by == "bwrap" && AMONG_THEMSELVES.contains(script);
        if found != *expected && !is_harmless {
            wrong.push(format!("{level}: {script}\n  {ended:?} {confinement}\n  {output}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_denial_names_the_path_and_the_level_is_told() {
    let stage = stage("workspace", "auto");
    let ran = stage.run("echo x > $HOME/out/new").await;
    assert!(ran.confinement.starts_with("workspace ("), "{}", ran.confinement);
    let denied = ran.denied.unwrap();
    assert!(denied.contains("out/new"), "{denied}");
}

#[tokio::test]
async fn nobody_watching_means_confined_unless_chosen() {
    let mut stage = Stage::new();
    let ran = stage.engine.run(command("true"), &stage.cx()).await.unwrap();
    assert_eq!(ran.confinement, "off");
    let cx = stage.cx().attended(false);
    let ran = stage.engine.run(command("true"), &cx).await.unwrap();
    assert!(ran.confinement.starts_with("workspace"), "{}", ran.confinement);
    stage.values["terminal"]["sandbox"] = json!("off");
    let cx = stage.session("other").attended(false);
    let ran = stage.engine.run(command("true"), &cx).await.unwrap();
    assert_eq!(ran.confinement, "off");
}
