//! A terminal that goes away without a signal.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::loopback::Loopback;

#[test]
#[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
fn a_chat_whose_terminal_is_gone_ends_and_does_not_spin() {
    let home = Loopback::saying(Vec::new()).home();
    let ours =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&ours).expect("ours");
    unlockpt(&ours).expect("open");
    let name = ptsname(&ours, Vec::new()).expect("a name").into_string().expect("readable");
    // Not its controlling terminal: nobody is signalled when it goes.
    let noctty = i32::try_from(OFlags::NOCTTY.bits()).expect("a flag");
    let open = || OpenOptions::new().read(true).write(true).custom_flags(noctty).open(&name);
    let mut chat = Command::new(env!("CARGO_BIN_EXE_petasos"))
        .arg("chat")
        .current_dir(home.workspace())
        .env_clear()
        .envs([
            ("HOME", home.user()),
            ("TERM", "dumb".as_ref()),
            ("PATH", "/usr/bin:/bin".as_ref()),
        ])
        .stdin(open().expect("its terminal"))
        .stdout(open().expect("its terminal"))
        .stderr(open().expect("its terminal"))
        .spawn()
        .expect("a chat");
    // It is up when it has written something.
    let mut first = [0; 1];
    rustix::io::read(&ours, &mut first).expect("its first words");
    drop(ours);
    let patience = Instant::now() + Duration::from_secs(40);
    let ended = loop {
        match chat.try_wait().expect("a child of ours") {
            Some(status) => break Some(status),
            None if Instant::now() > patience => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if ended.is_none() {
        chat.kill().expect("still there");
        chat.wait().expect("ended");
    }
    assert!(ended.is_some(), "the chat goes on without a terminal");
}
