//! `petasos update`: how this copy was installed, and the command that replaces it.
//!
//! Nothing is downloaded: whoever installed the program knows where it comes from, and a program
//! that replaces itself would get round that.

use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::json;

use crate::command::{Command, Session};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "update",
    about: "Show how this copy was installed and how to update it",
    examples: &[("petasos update", "how this copy was installed, and what replaces it")],
    hidden: false,
    arguments: |command| command,
    run,
};

/// How a copy came here, and what replaces it.
#[derive(Debug, PartialEq, Eq)]
struct Installed {
    how: &'static str,
    update: String,
}

/// Judged by what was installed with it, and else by where it stands. `read` gives a file's text.
fn installed(program: &Path, read: impl Fn(&Path) -> Option<String>) -> Installed {
    let root = program.parent().and_then(Path::parent);
    let beside = |path: &str| root.and_then(|root| read(&root.join(path)));
    let folder = root.unwrap_or(Path::new("/")).display().to_string();
    let package = beside("share/petasos/package");
    match package.as_deref().map(str::trim) {
        Some("deb") => {
            let update = "sudo apt install ./petasos_VERSION_ARCH.deb, with a newer package";
            return Installed { how: "Debian package", update: update.to_owned() };
        }
        Some("archive") => {
            let update = format!(
                "tar -xzf petasos-VERSION-ARCH-linux.tar.gz --strip-components=1 -C {folder}, with a \
                 newer archive"
            );
            return Installed { how: "archive (tar.gz)", update };
        }
        _ => {}
    }
    let by_cargo = beside(".crates.toml").is_some_and(|list| list.contains("\"petasos "));
    let (how, update) = if by_cargo { ("cargo install", BY_CARGO) } else { by_place(program) };
    Installed { how, update: update.to_owned() }
}

const BY_CARGO: &str = "git pull && cargo install --locked --path crates/petasos";

fn by_place(program: &Path) -> (&'static str, &'static str) {
    let parts: Vec<&str> =
        program.components().filter_map(|part| part.as_os_str().to_str()).collect();
    let has = |folders: &[&str]| parts.windows(folders.len()).any(|window| window == folders);
    let built = ["release", "debug", "dist"].iter().any(|profile| has(&["target", profile]));
    if has(&[".cargo", "bin"]) {
        ("cargo install", BY_CARGO)
    } else if built {
        ("built from source", "git pull && cargo build --release")
    } else if has(&["nix", "store"]) {
        ("Nix", "nix profile upgrade petasos")
    } else if has(&["Cellar"]) || has(&["homebrew"]) {
        ("Homebrew", "brew upgrade petasos")
    } else if parts.get(1).is_some_and(|first| *first == "usr") && !has(&["local"]) {
        ("system package", "use the package manager of your system")
    } else {
        ("copied by hand", "replace this file with a newer build")
    }
}

fn run(_: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let program = std::env::current_exe()
        .map_err(|error| Report::new(format!("cannot find this program's file: {error}")))?;
    let Installed { how, update } = installed(&program, |path| std::fs::read_to_string(path).ok());
    let version = env!("CARGO_PKG_VERSION");
    if session.out.is_json() {
        let program = program.display().to_string();
        session.out.value(&json!({
            "version": version, "program": program, "installed": how, "update": update,
        }));
    } else {
        session.out.line(format!("petasos {version}, {}", program.display()));
        session.out.line(format!("installed: {how}"));
        session.out.line(format!("update:    {update}"));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_program_says_how_it_came_there() {
        for (program, how) in [
            ("/home/me/.cargo/bin/petasos", "cargo install"),
            ("/src/petasos/target/release/petasos", "built from source"),
            ("/usr/bin/petasos", "system package"),
            ("/usr/local/bin/petasos", "copied by hand"),
            ("/opt/petasos", "copied by hand"),
            ("/opt/homebrew/bin/petasos", "Homebrew"),
        ] {
            assert_eq!(installed(Path::new(program), |_| None).how, how, "{program}");
        }
    }

    #[test]
    fn what_was_installed_with_it_says_more_than_its_place() {
        let at = |program: &str, file: &str, text: &str| {
            let read = |path: &Path| (path == Path::new(file)).then(|| text.to_owned());
            installed(Path::new(program), read)
        };
        let marker = "/usr/share/petasos/package";
        assert_eq!(at("/usr/bin/petasos", marker, "deb\n").how, "Debian package");
        let unpacked = "/home/me/.local/share/petasos/package";
        let archive = at("/home/me/.local/bin/petasos", unpacked, "archive\n");
        assert_eq!(archive.how, "archive (tar.gz)");
        assert!(archive.update.contains("-C /home/me/.local"), "{archive:?}");
        let list = "[v1]\n\"petasos 0.0.0 (path+file:///src)\" = [\"petasos\"]\n";
        assert_eq!(
            at("/opt/tools/bin/petasos", "/opt/tools/.crates.toml", list).how,
            "cargo install"
        );
    }
}
