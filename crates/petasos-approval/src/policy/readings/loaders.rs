//! Programs that load files by another name: modules, scripts of tools, configuration of git.

use std::path::{Path, PathBuf};

use super::{Reading, ReadingPlace, operands, option, quoted};

/// Keys of git's configuration whose value is a command.
const GIT_COMMANDS: [&str; 12] = [
    "pager",
    "sshcommand",
    "editor",
    "fsmonitor",
    "askpass",
    "external",
    "command",
    "textconv",
    "clean",
    "smudge",
    "process",
    "helper",
];
/// So many entries of a folder are looked at for tests.
const TESTS_MAX: usize = 200;

/// What one program loads.
pub(super) fn read(
    place: &ReadingPlace<'_>,
    name: &str,
    arguments: &[String],
    found: &mut Vec<Reading>,
) {
    match name {
        "git" => git(place, arguments, found),
        "sed" | "gsed" => {
            let script = option(arguments, "-f", "--file").map(|file| place.at(file));
            if let Some(text) = script.and_then(|file| place.written(&file)) {
                found.push(Reading::Command(format!("sed -e {} -", quoted(&text))));
            }
        }
        "sqlite3" | "sqlite" => {
            for word in arguments {
                let file = word.trim().strip_prefix(".read").map(|rest| place.at(rest.trim()));
                if let Some(text) = file.and_then(|file| place.written(&file)) {
                    found.push(Reading::Command(format!("sqlite3 <<'READ'\n{text}\nREAD")));
                }
            }
        }
        name if name.starts_with("perl") => perl(place, arguments, found),
        name if name.starts_with("python") => python(place, arguments, found),
        "pytest" | "py.test" => tests(place, found),
        _ => {}
    }
}

/// Aliases and commands that a configuration of the agent's names.
fn git(place: &ReadingPlace<'_>, arguments: &[String], found: &mut Vec<Reading>) {
    let around =
        option(arguments, "-C", "--work-tree").map_or(place.cwd.to_path_buf(), |at| place.at(at));
    let config = around.ancestors().map(|at| at.join(".git/config")).find(|file| file.is_file());
    let Some(text) = config.and_then(|file| place.written(&file)) else { return };
    let called = operands(arguments);
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            section = head.trim_end_matches(']').to_ascii_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().trim_matches('"'));
        if section == "alias" && called.iter().any(|word| word.eq_ignore_ascii_case(&key)) {
            found.push(Reading::Command(match value.strip_prefix('!') {
                Some(command) => command.to_owned(),
                None => format!("git {value}"),
            }));
        } else if GIT_COMMANDS.contains(&key.as_str()) && value != "true" && value != "false" {
            found.push(Reading::Command(value.trim_start_matches('!').to_owned()));
        }
    }
}

fn perl(place: &ReadingPlace<'_>, arguments: &[String], found: &mut Vec<Reading>) {
    let options = place.variable("PERL5OPT");
    let words: Vec<&str> =
        options.split_whitespace().chain(arguments.iter().map(String::as_str)).collect();
    let mut folders = vec![place.cwd.to_path_buf(), place.cwd.join("lib")];
    folders.extend(words.iter().filter_map(|word| word.strip_prefix("-I")).map(|at| place.at(at)));
    folders.extend(place.variable("PERL5LIB").split(':').map(|at| place.at(at)));
    let modules =
        words.iter().filter_map(|word| word.strip_prefix("-M").or_else(|| word.strip_prefix("-m")));
    for module in modules {
        let module = module.split('=').next().unwrap_or_default();
        let file = format!("{}.pm", module.replace("::", "/"));
        ours(place, folders.iter().map(|folder| folder.join(&file)), "perl", found);
    }
}

fn python(place: &ReadingPlace<'_>, arguments: &[String], found: &mut Vec<Reading>) {
    let mut folders = vec![place.cwd.to_path_buf()];
    let more = place.variable("PYTHONPATH").split(':').filter(|at| !at.is_empty());
    folders.extend(more.map(|at| place.at(at)));
    let files = |module: &str| -> Vec<PathBuf> {
        let path = module.replace('.', "/");
        let forms =
            [format!("{path}/__init__.py"), format!("{path}/__main__.py"), format!("{path}.py")];
        folders.iter().flat_map(|at| forms.iter().map(move |form| at.join(form))).collect()
    };
    match option(arguments, "-m", "--module") {
        Some("unittest" | "pytest" | "nose2") => tests(place, found),
        Some(module) => ours(place, files(module), "python3", found),
        None => {}
    }
    let code = option(arguments, "-c", "--command").unwrap_or_default();
    for line in code.split(['\n', ';']) {
        let mut words = line.split([' ', ',', '\t']).filter(|word| !word.is_empty());
        match words.next() {
            Some("import") => {
                words.for_each(|module| ours(place, files(module), "python3", found));
            }
            Some("from") => {
                words.take(1).for_each(|module| ours(place, files(module), "python3", found));
            }
            _ => {}
        }
    }
}

/// Test files of the agent's, which a runner of tests finds by itself.
fn tests(place: &ReadingPlace<'_>, found: &mut Vec<Reading>) {
    let folders = [place.cwd.to_path_buf(), place.cwd.join("tests"), place.cwd.join("test")];
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(TESTS_MAX);
        let is_test = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_python = Path::new(name).extension().is_some_and(|ending| ending == "py");
            is_python
                && (name.starts_with("test") || name.ends_with("_test.py") || name == "conftest.py")
        };
        ours(place, entries.map(|entry| entry.path()).filter(is_test), "python3", found);
    }
}

/// Those of the files that the agent wrote, run by their program.
fn ours(
    place: &ReadingPlace<'_>,
    files: impl IntoIterator<Item = PathBuf>,
    program: &str,
    found: &mut Vec<Reading>,
) {
    for file in files {
        if place.written(&file).is_some() {
            let file = quoted(&file.display().to_string());
            found.push(Reading::Command(format!("{program} {file}")));
        }
    }
}
