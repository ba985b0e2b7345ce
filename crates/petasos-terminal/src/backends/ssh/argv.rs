//! The command lines of `ssh`: asking for its configuration, connecting, running, ending.
//!
//! Pure. Only the connecting one reads the user's configuration; the others speak to the control
//! socket and must never reach out by themselves, so they have no configuration and a proxy that
//! refuses.

use std::path::Path;

use super::hostkeys::Checking;
use super::target::Target;

/// How often a silent connection is asked for a sign of life, and how many times in vain.
const ALIVE_SECONDS: u32 = 5;
const ALIVE_COUNT: u32 = 3;
/// An unused connection ends itself after so long, should nobody be left to end it.
const PERSIST_SECONDS: u32 = 300;

/// How long the connection itself may take.
pub(super) const CONNECT_SECONDS: u32 = 10;

/// Prints the configuration that would be used.
pub(super) fn query(ssh: &Path, target: &Target) -> Vec<String> {
    let mut argv = program(ssh);
    argv.push("-G".to_owned());
    argv.extend(who(target));
    argv.extend(["--".to_owned(), target.host.clone()]);
    argv
}

/// Connects, and leaves the connection behind `socket` when it is ready.
pub(super) fn connect(
    ssh: &Path,
    target: &Target,
    socket: &Path,
    checking: &Checking,
) -> Vec<String> {
    let mut argv = program(ssh);
    // After authentication the first process ends, which says that the socket answers.
    argv.extend(["-f", "-N", "-T", "-x", "-a"].map(str::to_owned));
    argv.extend(who(target));
    let mut option = |text: String| argv.extend(["-o".to_owned(), text]);
    option("ControlMaster=yes".to_owned());
    option(format!("ControlPath={}", literal(socket)));
    option(format!("ControlPersist={PERSIST_SECONDS}"));
    option("BatchMode=yes".to_owned());
    option(format!("ConnectTimeout={CONNECT_SECONDS}"));
    option("ConnectionAttempts=1".to_owned());
    option(format!("ServerAliveInterval={ALIVE_SECONDS}"));
    option(format!("ServerAliveCountMax={ALIVE_COUNT}"));
    option("ClearAllForwardings=yes".to_owned());
    option("PermitLocalCommand=no".to_owned());
    option("RemoteCommand=none".to_owned());
    checking.options().into_iter().for_each(&mut option);
    argv.extend(["--".to_owned(), target.host.clone()]);
    argv
}

/// Runs one command through the connection; `script` is for the remote login shell.
pub(super) fn run(ssh: &Path, socket: &Path, terminal: bool, script: &str) -> Vec<String> {
    let mut argv = through(ssh, socket);
    argv.extend(["-e".to_owned(), "none".to_owned()]);
    argv.push(if terminal { "-tt" } else { "-T" }.to_owned());
    argv.extend(["--".to_owned(), NOBODY.to_owned(), script.to_owned()]);
    argv
}

/// Says something to the process that holds the connection: `check` or `exit`.
pub(super) fn tell(ssh: &Path, socket: &Path, what: &str) -> Vec<String> {
    let mut argv = through(ssh, socket);
    argv.extend(["-O", what, "--", NOBODY].map(str::to_owned));
    argv
}

/// Stands where `ssh` wants a host; the control socket decides where the words go.
const NOBODY: &str = "petasos";

fn through(ssh: &Path, socket: &Path) -> Vec<String> {
    let mut argv = program(ssh);
    argv.extend(["-F", "none", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR"].map(str::to_owned));
    // Without the socket ssh would connect on its own, unmultiplexed and with other rules.
    argv.extend(["-o", "ControlMaster=no", "-o", "ProxyCommand=false"].map(str::to_owned));
    argv.extend(["-o".to_owned(), format!("ControlPath={}", literal(socket))]);
    argv
}

fn program(ssh: &Path) -> Vec<String> {
    vec![ssh.display().to_string()]
}

fn who(target: &Target) -> Vec<String> {
    let mut argv = Vec::new();
    if let Some(config) = &target.config {
        argv.extend(["-F".to_owned(), config.display().to_string()]);
    }
    if let Some(user) = &target.user {
        argv.extend(["-l".to_owned(), user.clone()]);
    }
    if let Some(port) = target.port {
        argv.extend(["-p".to_owned(), port.to_string()]);
    }
    if let Some(key) = &target.key {
        argv.extend(["-i".to_owned(), key.display().to_string()]);
        // Servers count offered keys; the chosen one must not come after an agent's ten.
        argv.extend(["-o".to_owned(), "IdentitiesOnly=yes".to_owned()]);
    }
    argv
}

/// A path in an option: quoted, because of spaces, and without `%` meaning anything.
fn literal(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn target() -> Target {
        Target {
            host: "box".to_owned(),
            user: Some("me".to_owned()),
            port: Some(2222),
            key: Some(PathBuf::from("/k")),
            config: None,
        }
    }

    #[test]
    fn only_connecting_names_the_host() {
        let (ssh, socket) = (Path::new("/bin/ssh"), Path::new("/tmp/s 1%/x"));
        let connecting = connect(ssh, &target(), socket, &Checking::default()).join(" ");
        for part in [
            "-l me -p 2222 -i /k -o IdentitiesOnly=yes",
            "ControlPath=\"/tmp/s 1%%/x\"",
            "BatchMode=yes",
            "ConnectTimeout=10",
            "ServerAliveInterval=5",
            "StrictHostKeyChecking=accept-new",
            "-- box",
        ] {
            assert!(connecting.contains(part), "{part} in {connecting}");
        }
        for argv in [run(ssh, socket, false, "true"), tell(ssh, socket, "exit")] {
            let line = argv.join(" ");
            assert!(line.contains("-F none") && line.contains("ProxyCommand=false"), "{line}");
            assert!(!line.contains("box"), "{line}");
        }
        assert_eq!(run(ssh, socket, true, "a b").last().map(String::as_str), Some("a b"));
        assert!(run(ssh, socket, true, "x").contains(&"-tt".to_owned()));
    }
}
