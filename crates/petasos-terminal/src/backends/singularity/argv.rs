//! The command lines of `apptainer`, which `singularity` understands as well. Pure.

use std::path::Path;

use super::wish::{Bind, Limits, PIDS_MAX};

/// A container to start.
#[derive(Debug, Clone)]
pub(super) struct Beginning<'a> {
    pub(super) image: &'a Path,
    pub(super) name: &'a str,
    /// Where changed files go; without one they are gone with the container.
    pub(super) overlay: Option<&'a Path>,
    pub(super) binds: &'a [Bind],
    pub(super) limits: Option<Limits>,
}

/// Starts the container and leaves it running.
pub(super) fn start(program: &Path, beginning: &Beginning<'_>) -> Vec<String> {
    let mut argv =
        words(program, &["instance", "start", "--containall", "--no-home", "--cleanenv"]);
    match beginning.overlay {
        Some(overlay) => argv.extend(["--overlay".to_owned(), overlay.display().to_string()]),
        None => argv.push("--writable-tmpfs".to_owned()),
    }
    for bind in beginning.binds {
        let mode = if bind.writable { "rw" } else { "ro" };
        let bind = format!("{}:{}:{mode}", bind.from.display(), bind.to);
        argv.extend(["--bind".to_owned(), bind]);
    }
    if let Some(limits) = beginning.limits {
        if limits.memory_mb > 0 {
            argv.extend(["--memory".to_owned(), format!("{}M", limits.memory_mb)]);
        }
        if limits.cpus > 0.0 {
            argv.extend(["--cpus".to_owned(), limits.cpus.to_string()]);
        }
        argv.extend(["--pids-limit".to_owned(), PIDS_MAX.to_string()]);
    }
    argv.extend([beginning.image.display().to_string(), beginning.name.to_owned()]);
    argv
}

/// Runs a program in it.
pub(super) fn run(program: &Path, name: &str, inner: &[String]) -> Vec<String> {
    let mut argv = words(program, &["--silent", "exec", "--cleanenv", "--pwd", "/"]);
    argv.push(format!("instance://{name}"));
    argv.extend(inner.iter().cloned());
    argv
}

/// Ends the container: asks, and after some seconds insists.
pub(super) fn stop(program: &Path, name: &str) -> Vec<String> {
    words(program, &["instance", "stop", "--timeout", "3", name])
}

/// Lists the containers of this user.
pub(super) fn list(program: &Path) -> Vec<String> {
    words(program, &["instance", "list", "--json"])
}

/// Builds an image file from an address.
pub(super) fn build(program: &Path, file: &Path, address: &str) -> Vec<String> {
    let file = file.display().to_string();
    words(program, &["build", "--force", &file, address])
}

fn words(program: &Path, words: &[&str]) -> Vec<String> {
    let program = program.display().to_string();
    std::iter::once(program).chain(words.iter().map(|word| (*word).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_closed_off_whatever_else_is_wanted() {
        let bind = Bind { from: "/d".into(), to: "/data".into(), writable: false };
        let mut beginning = Beginning {
            image: Path::new("/i.sif"),
            name: "petasos-1",
            overlay: None,
            binds: &[bind],
            limits: Some(Limits { cpus: 0.5, memory_mb: 0 }),
        };
        let program = Path::new("/bin/apptainer");
        assert_eq!(
            start(program, &beginning).join(" "),
            "/bin/apptainer instance start --containall --no-home --cleanenv --writable-tmpfs \
             --bind /d:/data:ro --cpus 0.5 --pids-limit 256 /i.sif petasos-1"
        );
        beginning.overlay = Some(Path::new("/o"));
        beginning.limits = None;
        let line = start(program, &beginning).join(" ");
        assert!(line.contains("--overlay /o") && !line.contains("--pids-limit"), "{line}");
        let inner = ["sh".to_owned(), "-c".to_owned()];
        assert_eq!(
            run(program, "x", &inner).join(" "),
            "/bin/apptainer --silent exec --cleanenv --pwd / instance://x sh -c"
        );
    }
}
