//! A real `sudo` that wants a password, for a user that exists only in a private view of `/etc`.
#![expect(clippy::disallowed_methods, reason = "another user's program is what this is about")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use petasos_contract::terminal::{Ended, Passwords, SudoNote};
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
    let ran = stage.run("sudo sh -c 'cat; echo end'").await;
    assert_eq!((ran.output.as_str(), ran.sudo), ("end\n", None), "no password is left over");

    let person = Arc::new(Person { words: &["wrong", RIGHT], asked: AtomicUsize::new(0) });
    let mut stage = Stage::new();
    stage.engine = Engine::new(Some(Arc::clone(&person) as _));
    let ran = stage.run("sudo id -u").await;
    assert_ne!(ran.ended, Ended::Exited(0));
    assert_eq!(ran.sudo, Some(SudoNote::CacheCleared), "{}", ran.output);
    assert_eq!(stage.output("sudo id -u").await, "0\n");
    assert_eq!(stage.output("sudo id -un").await, "root\n");
    assert_eq!(person.asked.load(Ordering::Relaxed), 2, "what was typed is remembered");
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
