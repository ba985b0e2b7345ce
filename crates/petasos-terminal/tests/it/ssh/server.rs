//! A real sshd of the test's own, on a port of its own, that can be stopped, changed and crippled.
#![expect(clippy::disallowed_methods, reason = "the other side is started by the test")]

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::Stage;

const SSHD: &str = "/usr/sbin/sshd";

/// What the machine behind the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// The one that the test runs on.
    Whole,
    /// The same with processes of its own.
    Apart,
    /// No bash; `sh` is dash.
    Dash,
    /// No bash; `sh` is busybox.
    Busybox,
    /// `/mnt` has 256 kB.
    Full,
}

pub(crate) struct Server {
    pub(crate) folder: TempDir,
    pub(crate) port: u16,
    machine: Machine,
    listener: Option<Child>,
}

/// A server, or a word on why the test is skipped.
pub(crate) fn server(test: &str, machine: Machine) -> Option<Server> {
    let missing = [SSHD, "/usr/bin/ssh", "/usr/bin/ssh-keygen"];
    let missing = missing.into_iter().find(|program| !Path::new(program).exists());
    let reason = match missing {
        Some(program) => Some(format!("there is no {program}")),
        None if machine != Machine::Whole && !may_mount() => {
            Some("another machine needs a mount namespace".to_owned())
        }
        None => None,
    };
    match reason {
        Some(reason) => {
            petasos_testkit::skip(test, "sshd", &reason);
            None
        }
        None => Some(Server::start(machine)),
    }
}

fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success()) && Path::new("/bin/busybox").exists()
}

impl Server {
    fn start(machine: Machine) -> Self {
        let folder = TempDir::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { folder, port, machine, listener: None };
        for key in ["host", "other-host", "client", "stranger"] {
            keygen(&server.path(key));
        }
        fs::copy(server.path("client.pub"), server.path("authorized")).unwrap();
        server.knows("host");
        server.configure("host", 10);
        server.up();
        server
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts this key, as the server's, among the known ones.
    pub(crate) fn knows(&self, key: &str) {
        let public = fs::read_to_string(self.path(&format!("{key}.pub"))).unwrap();
        let line = format!("[127.0.0.1]:{} {public}", self.port);
        write(&self.path("known_hosts"), &line);
    }

    /// Which key the server shows, and how many programs it lets one connection run.
    pub(crate) fn configure(&self, key: &str, sessions: u32) {
        let folder = self.folder.path().display();
        let text = format!(
            "Port {}\nListenAddress 127.0.0.1\nHostKey {folder}/{key}\nPidFile none\n\
             AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nMaxSessions {sessions}\nMaxStartups 50:30:100\n\
             AllowTcpForwarding yes\n",
            self.port
        );
        write(&self.path("sshd_config"), &text);
    }

    /// Starts it and waits until it answers.
    pub(crate) fn up(&mut self) {
        let config = self.path("sshd_config");
        let log = File::options().create(true).append(true).open(self.path("log")).unwrap();
        let sshd = format!("exec {SSHD} -D -e -f {}", config.display());
        let script = match self.machine {
            Machine::Whole | Machine::Apart => sshd,
            Machine::Full => {
                format!("mount -t tmpfs -o size=256k none /mnt && chmod 1777 /mnt && {sshd}")
            }
            Machine::Dash => format!("{} && {sshd}", self.without_bash()),
            Machine::Busybox => {
                let sh = "rm /usr/bin/sh && ln -s \"$(command -v busybox)\" /usr/bin/sh";
                format!("{} && {sh} && {sshd}", self.without_bash())
            }
        };
        let mut command = if self.machine == Machine::Whole {
            Command::new("/bin/sh")
        } else {
            let mut command = Command::new("unshare");
            command.args(["-m", "-p", "--fork", "--kill-child", "--mount-proc", "/bin/sh"]);
            command
        };
        command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.listener = Some(command.spawn().unwrap());
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = fs::read_to_string(self.path("log")).unwrap();
            assert!(Instant::now() < until, "sshd does not answer: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Hides bash, and gives root another login shell.
    fn without_bash(&self) -> String {
        let passwd = fs::read_to_string("/etc/passwd").unwrap();
        write(&self.path("passwd"), &passwd.replace("/bin/bash", "/bin/sh"));
        let folder = self.folder.path().display();
        for layer in ["upper", "work"] {
            fs::create_dir_all(self.path(layer)).unwrap();
        }
        format!(
            "mount --bind {folder}/passwd /etc/passwd && mount -t overlay -o \
             lowerdir=/usr/bin,upperdir={folder}/upper,workdir={folder}/work none /usr/bin && \
             rm /usr/bin/bash"
        )
    }

    /// Ends the server and every connection, as a crash of the machine's sshd would.
    pub(crate) fn down(&mut self) {
        self.cut_connections();
        if let Some(mut listener) = self.listener.take() {
            listener.kill().unwrap();
            listener.wait().unwrap();
        }
    }

    /// Ends every connection; the listener stays.
    pub(crate) fn cut_connections(&self) {
        for pid in self.connections() {
            let gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            assert!(matches!(gone, Ok(()) | Err(rustix::io::Errno::SRCH)), "{gone:?}");
        }
    }

    /// The server's own processes for connections: children of the listener named sshd.
    pub(crate) fn connections(&self) -> Vec<rustix::process::Pid> {
        let Some(listener) = &self.listener else { return Vec::new() };
        let mut found = Vec::new();
        let mut parents = vec![listener.id()];
        while let Some(parent) = parents.pop() {
            let children = format!("/proc/{parent}/task/{parent}/children");
            // One that is gone has none.
            let children = fs::read_to_string(children).unwrap_or_default();
            for child in children.split_whitespace() {
                let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
                if name.trim_end().starts_with("sshd") {
                    let child: u32 = child.parse().unwrap();
                    parents.push(child);
                    let number = i32::try_from(child).unwrap();
                    found.push(rustix::process::Pid::from_raw(number).unwrap());
                }
            }
        }
        found
    }

    /// The settings that reach it.
    pub(crate) fn terminal(&self) -> Value {
        self.reached("StrictHostKeyChecking yes", "client")
    }

    /// Settings with this line in the user's configuration, and this key.
    pub(crate) fn reached(&self, line: &str, key: &str) -> Value {
        let folder = self.folder.path().display();
        let config = format!(
            "Host box\n  HostName 127.0.0.1\n  Port {}\n  UserKnownHostsFile {folder}/known_hosts\n  \
             IdentitiesOnly yes\n  IdentityFile {folder}/{key}\n  {line}\n",
            self.port
        );
        write(&self.path("ssh_config"), &config);
        json!({ "backend": "ssh", "ssh_host": "box", "ssh_config": self.path("ssh_config") })
    }

    pub(crate) fn stage(&self) -> Stage {
        Stage::with(&self.terminal())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down();
    }
}

fn keygen(path: &Path) {
    let mut command = Command::new("/usr/bin/ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(path);
    assert!(command.status().unwrap().success());
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}
