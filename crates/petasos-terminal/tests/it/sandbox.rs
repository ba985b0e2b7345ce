//! Attempts to reach out of the sandbox, each with what must come of it.

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

/// A level, a command and its end. `$OUT` is a folder outside, `$HOME/petasos` our own home.
const ATTEMPTS: &[(&str, &str, Expect)] = &[
    ("workspace", "echo x > inside", Done),
    ("workspace", "mkdir -p a/b && mv a/b c && rm -r a c", Done),
    ("workspace", "echo x > $TMP_OK/file", Done),
    ("workspace", "cat $OUT/canary > /dev/null", Done),
    ("workspace", "git init -q . && git commit -q --allow-empty -m x", Done),
    ("workspace", "python3 -c 'import tempfile; tempfile.mkdtemp(dir=\".\")'", Done),
    ("workspace", "exec 3<>/dev/null; echo x >&3", Done),
    ("workspace", "echo x > $OUT/new", Refused),
    ("workspace", "echo x > $OUT/canary", Refused),
    ("workspace", "echo x >> $OUT/canary", Refused),
    ("workspace", "rm $OUT/canary", Refused),
    ("workspace", "mv $OUT/canary .", Refused),
    ("workspace", "cp inside-seed $OUT/copied", Refused),
    ("workspace", "mkdir $OUT/folder", Refused),
    ("workspace", "truncate -s 0 $OUT/canary", Refused),
    ("workspace", "ln -s $OUT out && echo x > out/canary", Refused),
    ("workspace", "ln -s $OUT/canary link && echo x > link", Refused),
    ("workspace", "echo x > ../outside-$$", Refused),
    ("workspace", "cd $OUT && echo x > canary", Refused),
    ("workspace", "ln $OUT/canary hard && echo x > hard", Refused),
    ("workspace", "mv inside-seed $OUT/moved", Refused),
    ("workspace", "chmod 777 $OUT/canary", Refused),
    ("workspace", "touch -d 2001-01-01 $OUT/canary", Refused),
    ("workspace", "ln -s /etc/passwd $OUT/link", Refused),
    ("workspace", "mkfifo $OUT/pipe", Refused),
    ("workspace", "mknod $OUT/device c 1 3", Refused),
    ("workspace", "echo x > /proc/self/cwd/../../$(basename $OUT)/canary", Refused),
    ("workspace", "echo x > /proc/$PPID/root$OUT/canary", Refused),
    ("workspace", "echo 0 > /proc/sys/kernel/core_uses_pid", Refused),
    ("workspace", "echo x > /proc/$PPID/comm", Refused),
    ("workspace", "kill -TERM $PPID", Refused),
    ("workspace", "mount -t tmpfs none $OUT", Refused),
    ("workspace", "unshare -r mount -t tmpfs none $OUT", Refused),
    ("workspace", "mount -o remount,rw / && echo x > $OUT/canary", Refused),
    ("workspace", "nsenter -t $PPID -m sh -c \"echo x > $OUT/canary\"", Refused),
    ("workspace", "setsid -w sh -c \"echo x > $OUT/canary\"", Refused),
    ("workspace", "gdb -p $PPID -batch -ex quit 2>&1 | grep -q 'Attaching.*done' ", Refused),
    (
        "workspace",
        "python3 -c 'import ctypes,os,sys; sys.exit(ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) != 0)'",
        Refused,
    ),
    ("workspace", "echo x > $HOME/petasos/config.yaml", Refused),
    ("workspace", "echo x > $HOME/petasos/hooks/pre.sh", Refused),
    ("workspace", "echo x > .git/hooks/pre-commit", Refused),
    ("workspace", "mv .git/hooks .git/other", Refused),
    ("workspace", "rm -rf .git/hooks", Refused),
    ("workspace", "mv .git/hooks/sample .git/", Refused),
    ("workspace", "echo x > .petasos/config.yaml", Refused),
    ("workspace", "mv .git .git2", Refused),
    ("workspace", "mv .git .git2; mkdir -p .git/hooks && echo x > .git/hooks/pre-commit", Refused),
    ("workspace", "git config core.fsmonitor 'touch x'", Refused),
    ("workspace", "echo x >> .git/config", Refused),
    ("workspace", "rm -f .git/config && echo x > .git/config", Refused),
    ("workspace", "echo x > sub/nested/.git/hooks/pre-commit", Refused),
    ("workspace", "echo x >> sub/nested/.git/config", Refused),
    ("workspace", "mv sub other && echo x > other/nested/.git/config", Refused),
    ("workspace", "echo x > .git/modules/lib/config", Refused),
    ("workspace", "mv .git/modules .git/other", Refused),
    ("workspace", "echo x > worktree/.git", Refused),
    ("workspace", "mkdir -p .hermes && echo x > .hermes/config.yaml", Refused),
    ("workspace", "mv .hermes away && mkdir .hermes", Refused),
    ("workspace", "echo x > sub/nested/file && mv sub/nested/file sub/nested/.git/", Done),
    ("workspace", "mknod disk b 8 0", Refused),
    ("workspace", "mknod null c 1 3", Refused),
    ("workspace", "mkfifo pipe", Done),
    ("workspace", "tr -d '\\0' < /proc/$PPID/environ | grep -q .", Refused),
    ("workspace", "SPEAK('HOME/agent.sock')", Refused),
    ("workspace", "SPEAK('TMP/session.sock')", Refused),
    ("workspace-offline", "SPEAK('HOME/agent.sock')", Refused),
    ("workspace", "OWN", Done),
    ("workspace-offline", "OWN", Done),
    ("readonly", "SPEAK('HOME/agent.sock')", Refused),
    (
        "workspace-offline",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", PORT), 2)'",
        Refused,
    ),
    (
        "workspace-offline",
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'",
        Refused,
    ),
    ("workspace-offline", "python3 -c 'import socket; socket.socketpair()'", Done),
    (
        "workspace",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", PORT), 2)'",
        Done,
    ),
    ("readonly", "cat inside-seed", Done),
    ("readonly", "echo x > $TMPDIR/file && rm $TMPDIR/file", Done),
    ("readonly", "echo x > inside", Refused),
    ("readonly", "rm inside-seed", Refused),
    ("readonly", "echo x > $OUT/canary", Refused),
];

/// Asks whoever listens at a socket for a word.
const SPEAK: &str = "python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.settimeout(5); \
    s.connect(sys.argv[1]); s.recv(1)' ";
/// A command's own socket, with both ends inside.
const OWN: &str = "python3 -c 'import socket; a=socket.socket(socket.AF_UNIX); a.bind(\"own.sock\"); \
    a.listen(); b=socket.socket(socket.AF_UNIX); b.connect(\"own.sock\")'";

/// With bubblewrap a command has process numbers of its own: these reach only each other, and do.
const AMONG_THEMSELVES: &[&str] = &[
    "kill -TERM $PPID",
    "echo x > /proc/$PPID/comm",
    "tr -d '\\0' < /proc/$PPID/environ | grep -q .",
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
    let probe = stage("workspace", "auto");
    let environment = probe.engine.of(&probe.cx()).await.unwrap();
    let Health::Ready { detail } = environment.health().await else { panic!("no terminal") };
    if !detail.contains("landlock") || !detail.contains("mount namespace") {
        println!("skipped: this kernel offers only {detail}");
        return;
    }
    all_end_as_expected("auto", "landlock").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bubblewrap_refuses_the_same_where_landlock_is_not_to_be_had() {
    let probe = stage("workspace", "bwrap").run("true").await;
    if !probe.confinement.contains("bwrap,") {
        let test = "bubblewrap_refuses_the_same_where_landlock_is_not_to_be_had";
        petasos_testkit::skip(test, "bwrap", &probe.confinement);
        return;
    }
    all_end_as_expected("bwrap", "bwrap").await;
}

async fn all_end_as_expected(by: &str, named: &str) {
    assert!(ATTEMPTS.len() >= 40);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut wrong = Vec::new();
    for (level, script, expected) in ATTEMPTS {
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
