//! A real `sudo` that wants a password, for a user that exists only in a private view of `/etc`.
#![expect(clippy::disallowed_methods, reason = "another user's program is what this is about")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use petasos_contract::jobs::{Jobs, Notify};
use petasos_contract::terminal::{Ended, Passwords, SudoNote, Terminal};
use petasos_contract::{BoxFuture, CallContext, Secret};
use petasos_terminal::Engine;

use crate::stage::Stage;

const RIGHT: &str = "correct horse";

/// A person who types one thing after the other.
struct Person {
    words: &'static [&'static str],
    asked: AtomicUsize,
}

impl Passwords for Person {
    fn ask<'a>(&'a self, _: &'a str, _: &'a CallContext) -> BoxFuture<'a, Option<Secret>> {
        let at = self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { self.words.get(at).map(|word| Secret::new(*word)) })
    }
}

/// Runs as a process of its own, as a user who may use sudo with a password.
#[tokio::test]
#[ignore = "helper process: started by the test below as another user"]
async fn a_user_who_must_type() {
    let stage = Stage::new();
    let nobody_typed = stage.run("sudo id -u").await;
    assert_eq!(nobody_typed.sudo, Some(SudoNote::Needed), "{}", nobody_typed.output);

    let mut stage = Stage::new();
    stage.variable("SUDO_PASSWORD", RIGHT);
    assert_eq!(stage.output("sudo id -u; echo sudo | cat").await, "0\nsudo\n");
    assert_eq!(stage.output("sudo id -u && sudo cat /etc/shadow | grep -c tester").await, "0\n1\n");
    assert_eq!(stage.output("timeout 20 sudo id -u; echo x | xargs sudo echo").await, "0\nx\n");
    assert_eq!(stage.output("for i in 1 2; do sudo echo $i; done").await, "1\n2\n");
    let ran = stage.run("sudo sh -c 'cat; echo end'").await;
    assert_eq!((ran.output.as_str(), ran.sudo), ("end\n", None), "its input is its own");
    assert_eq!(stage.output("echo given | sudo cat").await, "given\n");
    nobody_else_gets_it(&stage).await;

    let person = Arc::new(Person { words: &["wrong", RIGHT], asked: AtomicUsize::new(0) });
    let mut stage = Stage::new();
    stage.engine = Engine::new(Some(Arc::clone(&person) as _));
    let ran = stage.run("sudo id -u").await;
    assert_ne!(ran.ended, Ended::Exited(0));
    assert_eq!(ran.sudo, Some(SudoNote::CacheCleared), "{}", ran.output);
    assert_eq!(stage.output("sudo id -u").await, "0\n");
    assert_eq!(stage.output("sudo id -un").await, "root\n");
    assert_eq!(stage.output("echo sudo; cat <<'X'\nsudo id\nX").await, "sudo\nsudo id\n");
    assert_eq!(person.asked.load(Ordering::Relaxed), 2, "what was typed is remembered");
    a_job_asks_too(&stage).await;
}

/// What a line does besides calling `sudo` never meets the password.
async fn nobody_else_gets_it(stage: &Stage) {
    let attempts = [
        "sudo true; cat | rev",
        "sudo true; cat > stolen",
        // The helper is answered for sudo alone,
        "sudo true; $SUDO_ASKPASS > stolen; cat stolen | rev",
        // and only when sudo reads what it prints.
        "printf '#!/bin/sh\nexec %s > stolen\n' \"$SUDO_ASKPASS\" > evil; chmod +x evil; \
         SUDO_ASKPASS=$PWD/evil sudo true; cat stolen | rev",
        "printf '#!/bin/bash\nexec %s > >(tee stolen)\n' \"$SUDO_ASKPASS\" > evil; chmod +x evil; \
         SUDO_ASKPASS=$PWD/evil sudo true; cat stolen | rev",
        // A program that only bears the name has no rights.
        "mkdir -p fake; printf '#!/bin/sh\n%s > stolen\n' \"$SUDO_ASKPASS\" > fake/sudo; \
         chmod +x fake/sudo; ./fake/sudo; cat stolen | rev",
        "env | rev; tr '\\0' '\\n' < /proc/$$/environ | rev; cat $SUDO_ASKPASS $(type -P sudo) | rev # sudo",
    ];
    for attempt in attempts {
        std::fs::remove_file(stage.path().join("stolen")).ok();
        let ran = stage.run(attempt).await;
        let stolen = std::fs::read_to_string(stage.path().join("stolen")).unwrap_or_default();
        let told = ran.output.clone() + &stolen;
        let back: String = told.chars().rev().collect();
        assert!(!told.contains(RIGHT) && !back.contains(RIGHT), "{attempt}: {told}");
    }
    stage.output("cat > install.sh <<'X'\nsudo apt-get update\nX").await;
    let written = std::fs::read_to_string(stage.path().join("install.sh")).unwrap();
    assert_eq!(written, "sudo apt-get update\n", "what is written is as it was given");
    assert_eq!(stage.output("sudo true; export PATH=$PATH:/added; true").await, "");
    let path = stage.output("echo $PATH").await;
    assert!(path.contains("/added") && !path.contains("/run/sudo-"), "{path}");
    let left = std::fs::read_dir(stage.home.path().join("petasos/run")).unwrap().count();
    assert_eq!(left, 0, "nothing is left of the helpers");
}

async fn a_job_asks_too(stage: &Stage) {
    let cx = stage.cx();
    let job = stage.engine.start(crate::stage::command("sudo id -u"), Notify::Silent, &cx).await;
    let (_, view) =
        stage.engine.jobs().wait(&job.unwrap().job, Duration::from_secs(20), &cx).await.unwrap();
    assert_eq!((view.exit_code, view.output_preview.as_str()), (Some(0), "0\n"));
}

#[test]
fn sudo_gets_its_password_and_nobody_else_does() {
    let test = "sudo_gets_its_password_and_nobody_else_does";
    let is_root = fs::read_to_string("/proc/self/status").unwrap().contains("Uid:\t0\t");
    if !is_root || !Path::new("/usr/bin/sudo").exists() {
        petasos_testkit::skip(test, "sudo", "no root, or no sudo to be tested");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let at = |name: &str| folder.path().join(name);
    let put = |name: &str, text: String, mode: u32| {
        fs::write(at(name), text).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let user = "tester:x:54321:54321::/:/bin/bash\n";
    put("passwd", fs::read_to_string("/etc/passwd").unwrap() + user, 0o644);
    let hash = Command::new("perl")
        .args(["-e", "print crypt($ARGV[0], q($6$petasos$))", RIGHT])
        .output()
        .unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let shadow = format!("tester:{hash}:19000:0:99999:7:::\n");
    put("shadow", fs::read_to_string("/etc/shadow").unwrap() + &shadow, 0o600);
    // Asked every time, and once.
    let rules = "Defaults timestamp_timeout=0, passwd_tries=1\nroot ALL=(ALL) ALL\n\
                 tester ALL=(ALL) ALL\n";
    put("sudoers", rules.to_owned(), 0o440);
    let program = std::env::current_exe().unwrap();
    fs::hard_link(&program, at("program"))
        .or_else(|_| fs::copy(&program, at("program")).map(drop))
        .unwrap();
    let script = format!(
        "for f in passwd shadow sudoers; do mount --bind {0}/$f /etc/$f || exit 99; done\n\
         exec setpriv --reuid 54321 --regid 54321 --clear-groups -- {0}/program --ignored \
         --exact --nocapture sudo::a_user_who_must_type",
        folder.path().display()
    );
    let ran = Command::new("unshare")
        .args(["-m", "/bin/sh", "-c", &script])
        .env("TMPDIR", "/tmp")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    if ran.status.code() == Some(99) {
        petasos_testkit::skip(test, "sudo", "another view of /etc needs a mount namespace");
        return;
    }
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}
