//! From what apptainer said to what happened and what to do about it.

/// Whether only the limits were in the way.
pub(super) fn is_about_limits(said: &str) -> bool {
    let said = said.to_lowercase();
    ["cgroup", "resource limit"].iter().any(|word| said.contains(word))
}

/// Whether the container is not there: nothing can have run in it.
pub(super) fn is_gone(said: &str) -> bool {
    let said = said.to_lowercase();
    ["no instance found", "while setting image/instance", "couldn't add process to instance cgroup"]
        .iter()
        .any(|words| said.contains(words))
}

/// Why there is no container, in words a person can act on.
pub(super) fn explain(said: &str, image: &str) -> String {
    let lower = said.to_lowercase();
    let known = KNOWN.iter().find(|(signs, _)| signs.iter().any(|sign| lower.contains(sign)));
    let detail = said
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("FATAL") || line.starts_with("ERROR"))
        .or_else(|| said.lines().map(str::trim).rfind(|line| !line.is_empty()))
        .unwrap_or("it said nothing");
    let detail: String = detail.chars().take(300).collect();
    match known {
        Some((_, advice)) => format!("`{image}`: {advice} ({detail})"),
        None => format!("`{image}` cannot be started: {detail}"),
    }
}

/// Signs in lower case, the most telling first.
const KNOWN: &[(&[&str], &str)] = &[
    (
        &["no space left", "disk quota exceeded"],
        "there is no space left: clear `terminal.scratch_dir` or name another",
    ),
    (
        &["unauthorized", "authentication required", "requested access to the resource is denied"],
        "the registry refuses: log in with `apptainer registry login`, or check the name",
    ),
    (
        &["pinging container registry", "dial tcp", "no such host", "connection refused"],
        "the registry cannot be reached: check the network, or name an image file in \
         `terminal.singularity_image`",
    ),
    (&["manifest unknown", "not found in registry"], "the registry has no such image"),
    (
        &["no such file or directory", "could not open image", "not exist"],
        "there is no such image: check `terminal.singularity_image`",
    ),
    (
        &["image format not recognized", "unknown image format", "not a valid sif"],
        "it is no image that apptainer knows: build one with `apptainer build`",
    ),
    (
        &["user namespace", "unprivileged", "setuid", "subuid", "fakeroot"],
        "this user may not start containers here: the administrator must allow user namespaces or \
         install apptainer with setuid",
    ),
    (
        &["overlay", "fuse"],
        "its overlay cannot be mounted: set `terminal.container_persistent` to false, or install \
         fuse-overlayfs",
    ),
    (&["permission denied", "operation not permitted"], "permission was denied"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_says_what_to_do() {
        let rows = [
            (
                "FATAL:   could not open image /x: lstat /x: no such file or directory",
                "no such image",
            ),
            (
                "FATAL:   Unable to handle docker://h/x uri: pinging container registry h: dial tcp: \
                 connect: connection refused",
                "registry cannot be reached",
            ),
            ("FATAL:   image format not recognized", "no image that apptainer knows"),
            ("ERROR  : Failed to create user namespace: not allowed", "may not start containers"),
            ("FATAL: while unpacking: write: no space left on device", "no space left"),
            ("FATAL:   container creation failed: mount overlay: invalid argument", "overlay"),
            ("INFO: a\nFATAL: something new\n", "something new"),
        ];
        for (said, part) in rows {
            let why = explain(said, "/x");
            assert!(why.contains(part), "{said}: {why}");
        }
        assert!(is_about_limits("FATAL: cannot use cgroups - rootless"));
        assert!(is_gone("FATAL:   While setting image/instance: no instance found with name x"));
    }
}
