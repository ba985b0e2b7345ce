//! From what ssh said to what happened and what to do about it.

/// Why there is no connection, in words a person can act on.
pub(super) fn explain(said: &str, label: &str) -> String {
    let lower = said.to_lowercase();
    let has = |text: &str| lower.contains(text);
    let known = KNOWN.iter().find(|(signs, _)| signs.iter().any(|sign| has(sign)));
    let detail = said
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !line.starts_with('@'))
        .unwrap_or("it said nothing");
    match known {
        Some((_, advice)) => format!("{advice} ({})", shortened(detail)),
        None => format!("ssh cannot reach `{label}`: {}", shortened(detail)),
    }
}

/// Signs in lower case, the most telling first.
const KNOWN: &[(&[&str], &str)] = &[
    (
        &["remote host identification has changed", "has changed and you have requested"],
        "its host key has changed: find out why, and only then remove the old one with \
         `ssh-keygen -R`",
    ),
    (
        &["host key is known for", "host key verification failed"],
        "its host key is unknown and your ssh configuration accepts only known ones: connect once \
         by hand, or add it to known_hosts",
    ),
    (
        &["bad permissions", "unprotected private key"],
        "the key file is readable by others: `chmod 600` it",
    ),
    (
        &["permission denied (", "too many authentication failures", "no supported authentication"],
        "authentication failed: check `terminal.ssh_user` and `terminal.ssh_key`, or load the key \
         into your ssh agent; passwords are never asked for",
    ),
    (
        &["could not resolve hostname", "name or service not known"],
        "the host name cannot be resolved: check `terminal.ssh_host`",
    ),
    (
        &["connection refused"],
        "the connection was refused: check that sshd runs there, and `terminal.ssh_port`",
    ),
    (
        &["timed out", "timeout", "no route to host", "network is unreachable", "host is down"],
        "the host does not answer: check the network and `terminal.ssh_host`",
    ),
    (
        &["can't open user config", "bad configuration option", "bad owner or permissions"],
        "the ssh configuration cannot be used: see `ssh -G`",
    ),
    (
        &["unix_listener", "too long for unix domain socket", "no space left"],
        "its control socket cannot be made: check the temp folder",
    ),
    (
        &["connection reset", "connection closed", "kex_exchange_identification", "broken pipe"],
        "the connection was closed while it was made: check sshd's log, and that the port is ssh",
    ),
];

fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_says_what_to_do() {
        let rows = [
            ("ssh: connect to host 10.0.0.1 port 1: Connection refused", "ssh_port"),
            ("ssh: Could not resolve hostname x: Name or service not known", "ssh_host"),
            ("No ED25519 host key is known for x\nHost key verification failed.", "unknown"),
            (
                "@@@@\n@  WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!  @\n@@@@\n\
                 Host key verification failed.",
                "has changed",
            ),
            ("root@x: Permission denied (publickey).", "authentication failed"),
            ("Connection timed out during banner exchange", "does not answer"),
            ("Can't open user config file /x: No such file", "ssh configuration"),
            ("kex_exchange_identification: read: Connection reset by peer", "closed"),
            ("something new", "something new"),
            ("", "said nothing"),
        ];
        for (said, part) in rows {
            let why = explain(said, "ssh:x");
            assert!(why.contains(part), "{said}: {why}");
        }
    }
}
