//! What people install: packages, completions and manual pages, by the programs that use them.

use std::path::{Path, PathBuf};
use std::process::Command;

use petasos_testkit::{Home, skip};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Runs a program; its output, or nothing when it is not installed.
#[expect(clippy::disallowed_methods, reason = "tests start the programs that read what we write")]
fn output(program: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("LC_ALL", "C.UTF-8").env("MANWIDTH", "80");
    let output = command.output().ok()?;
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    Some(text)
}

/// A program that is the one under test and takes no room.
fn wrapper(home: &Home) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let file = home.user().join("petasos");
    let program = env!("CARGO_BIN_EXE_petasos");
    let text = format!("#!/bin/sh\nexec '{program}' \"$@\"\n");
    let made = std::fs::File::create(&file);
    std::io::Write::write_all(&mut made.expect("a file"), text.as_bytes()).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    file
}

/// The program under test in the place of the wrapper.
fn put_program(at: &Path) {
    std::fs::remove_file(at).expect("the wrapper");
    let program = env!("CARGO_BIN_EXE_petasos");
    if std::fs::hard_link(program, at).is_err() {
        std::fs::copy(program, at).expect("a copy");
    }
}

fn installed(program: &Path, home: &Home) -> String {
    let json = output(program.to_str().expect("a path"), &["update", "--json"], home.user());
    let told: serde_json::Value = serde_json::from_str(&json.expect("an answer")).expect("JSON");
    told["installed"].as_str().unwrap_or_default().to_owned()
}

const SHARED: [&str; 4] = [
    "share/man/man1/petasos.1.gz",
    "share/man/man1/petasos-chat.1.gz",
    "share/bash-completion/completions/petasos",
    "share/fish/vendor_completions.d/petasos.fish",
];

#[test]
fn packages_hold_the_program_its_pages_and_completions_and_it_knows_where_it_came_from() {
    let home = Home::temp();
    let (out, program) = (home.user().join("out"), wrapper(&home));
    let script = root().join("scripts/package");
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let arguments = ["--binary", &path(&program), "--out", &path(&out)];
    let made = output(&path(&script), &arguments, home.user()).expect("a script");
    let find = |end: &str| made.lines().find(|line| line.ends_with(end)).map(PathBuf::from);

    let archive = find("-linux.tar.gz").expect("an archive");
    let local = home.user().join(".local");
    std::fs::create_dir_all(&local).expect("a folder");
    let unpack = ["-xzf", &path(&archive), "--strip-components=1", "-C", &path(&local)];
    output("tar", &unpack, home.user()).expect("tar");
    for file in SHARED.iter().chain(&["share/zsh/site-functions/_petasos", "bin/petasos"]) {
        assert!(local.join(file).is_file(), "{file}");
    }
    put_program(&local.join("bin/petasos"));
    assert_eq!(installed(&local.join("bin/petasos"), &home), "archive (tar.gz)");
    let sums = std::fs::read_to_string(out.join("SHA256SUMS")).expect("sums");
    assert!(sums.contains("-linux.tar.gz"), "{sums}");

    let Some(package) = find(".deb") else {
        return skip("packages", "dpkg", "the program dpkg-deb is not installed");
    };
    let about = output("dpkg-deb", &["-I", &path(&package)], home.user()).expect("dpkg-deb");
    assert!(about.contains("Package: petasos") && about.contains("Depends: libc6"), "{about}");
    let list = output("dpkg-deb", &["-c", &path(&package)], home.user()).expect("dpkg-deb");
    assert!(list.contains("root/root") && list.contains("./usr/bin/petasos"), "{list}");
    let tree = home.user().join("tree");
    output("dpkg-deb", &["-x", &path(&package), &path(&tree)], home.user()).expect("dpkg-deb");
    let usr = tree.join("usr");
    for file in SHARED.iter().chain(&["share/zsh/vendor-completions/_petasos"]) {
        assert!(usr.join(file).is_file(), "{file}");
    }
    put_program(&usr.join("bin/petasos"));
    assert_eq!(installed(&usr.join("bin/petasos"), &home), "Debian package");
}

/// Each shell that is installed completes a command, its action and a flag of a conversation.
#[test]
fn shells_complete_what_we_tell_them() {
    let home = Home::temp();
    let scripts: Vec<(&str, String)> = ["bash", "zsh", "fish"]
        .map(|shell| (shell, crate::petasos(&home).run(&["completions", shell]).stdout))
        .into();
    for (shell, script) in &scripts {
        home.write(&format!("{shell}/_petasos"), script);
    }
    let bash = "source bash/_petasos
        ask() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); \
            _petasos petasos \"${!#}\" \"${@: -2:1}\"; echo \"${COMPREPLY[@]}\"; }
        ask petasos sess; ask petasos sessions exp; ask petasos --contin";
    let fish = "source fish/_petasos; complete -C 'petasos sess'
        complete -C 'petasos sessions exp'; complete -C 'petasos --contin'";
    let zsh = "fpath=($PWD/zsh $fpath); autoload -Uz compinit; compinit -u -D
        autoload +X _petasos; echo $_comps[petasos]; functions _petasos";
    for (shell, line, wanted) in [
        ("bash", bash, &["sessions", "export", "--continue"][..]),
        ("fish", fish, &["sessions", "export", "--continue"]),
        ("zsh", zsh, &["_petasos\n", "sessions", "--continue"]),
    ] {
        let plain = match shell {
            "bash" => ["--norc", "-c", line],
            "zsh" => ["-f", "-c", line],
            _ => ["--no-config", "-c", line],
        };
        let Some(said) = output(shell, &plain, home.user()) else { continue };
        for word in wanted {
            assert!(said.contains(word), "{shell}: {word}: {said}");
        }
    }
}

#[test]
fn the_manual_reads_our_pages_without_a_warning() {
    let home = Home::temp();
    let made = crate::petasos(&home).run(&["man", "--dir", "pages"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let pages = home.workspace().join("pages");
    for (page, wanted) in [
        ("petasos.1", ["--continue", "petasos doctor"]),
        ("petasos-run.1", ["--unattended", "git diff | petasos run"]),
    ] {
        let file = pages.join(page);
        let arguments = ["--warnings=all", "-E", "UTF-8", "-l", file.to_str().expect("a path")];
        let Some(text) = output("man", &arguments, &pages) else {
            return skip("manual pages", "man", "the program is not installed");
        };
        assert!(!text.contains("warning:"), "{page}: {text}");
        let plain: String =
            text.replace('\u{8}', "").split_whitespace().collect::<Vec<_>>().join(" ");
        let plain = plain.replace(['‐', '−'], "-");
        assert!(wanted.iter().all(|word| plain.contains(word)), "{page}: {plain}");
    }
}
