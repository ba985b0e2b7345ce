//! Every key is obeyed by somebody or marked as reserved, and has one default. Held against the
//! sources, because a documented setting that nothing reads is a lie nobody notices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use petasos_config::explain::explain;
use petasos_config::keys::{self, Key, Kind};
use petasos_config::load;

use crate::Setting;

/// The production files of each crate but this one, without comments and unit tests.
struct Sources {
    files: Vec<(PathBuf, String)>,
    /// Short texts that stand between quotes, and the files that have them: to look only there.
    quoted: BTreeMap<String, Vec<usize>>,
}

impl Sources {
    fn read() -> Self {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut files = Vec::new();
        for entry in std::fs::read_dir(crates).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            if !matches!(name.as_str(), "petasos-config" | "petasos-testkit" | "petasos-index") {
                walk(&folder.join("src"), &mut files);
            }
        }
        assert!(files.len() > 800, "the sources are beside this crate: {}", files.len());
        let mut quoted: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, (_, text)) in files.iter().enumerate() {
            // Which side of a quote is inside does not matter: names are looked for whole.
            for part in text.split('"').filter(|part| part.len() < 80) {
                let files = quoted.entry(part.to_owned()).or_default();
                if files.last() != Some(&at) {
                    files.push(at);
                }
            }
        }
        Self { files, quoted }
    }

    /// The files in which this text stands between quotes.
    fn with(&self, text: &str) -> impl Iterator<Item = &(PathBuf, String)> {
        self.quoted.get(text).into_iter().flatten().map(|at| &self.files[*at])
    }

    /// The files in which a text between quotes begins so.
    fn beginning(&self, text: &str) -> impl Iterator<Item = &(PathBuf, String)> {
        let from = self.quoted.range(text.to_owned()..);
        let found = from.take_while(move |(quoted, _)| quoted.starts_with(text));
        found.flat_map(|(_, files)| files).map(|at| &self.files[*at])
    }
}

fn walk(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            walk(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") && name != "tests" {
            let whole = std::fs::read_to_string(&path).unwrap();
            let production = whole.split("\nmod tests {").next().unwrap_or_default();
            let lines = production.lines().filter(|line| !line.trim_start().starts_with("//"));
            let mut text = String::new();
            lines.for_each(|line| text.extend([line, "\n"]));
            files.push((path, text));
        }
    }
}

/// Whether the whole path is written somewhere, or begins a text that is filled in.
fn is_named(key: &Key, sources: &Sources) -> bool {
    let fixed = key.path.split(['*', '@']).next().unwrap_or_default();
    if key.is_pattern() {
        return key.path.ends_with(".*")
            && sources.beginning(&format!("{fixed}{{")).next().is_some();
    }
    key.path.contains('.') && sources.with(key.path).next().is_some()
}

/// Whether the snapshot is asked for the key by its whole name.
fn is_got(key: &Key, sources: &Sources) -> bool {
    let forms = ["get", "names", "text"].map(|method| format!("{method}(\"{}\")", key.path));
    sources.with(key.path).any(|(_, text)| forms.iter().any(|form| text.contains(form)))
}

/// A key at the root is asked for by name, with a method of the snapshot.
fn is_asked_for(key: &Key, sources: &Sources) -> bool {
    let path = key.path;
    let asked = [
        format!("get(\"{path}\")"),
        format!("get(\"{path}."),
        format!("names(\"{path}\")"),
        format!("text(\"{path}\")"),
        format!("(settings, \"{path}\")"),
        format!("NAME: &'static str = \"{path}\""),
        format!("NAME: &str = \"{path}\""),
        format!("KEY: &str = \"{path}\""),
        format!("\"{path}.{{"),
        format!("[\"{path}\""),
        format!(", \"{path}\"]"),
        format!("&[\"{path}\", \"agent."),
        format!("\"{path}\".to_owned()"),
        format!("per_user(\"{path}\""),
        // A chat platform's section has its name.
        format!("    name: \"{path}\""),
    ];
    let asks = |(_, text): &(PathBuf, String)| asked.iter().any(|form| text.contains(form));
    !path.contains('.') && sources.beginning(path).any(asks)
}

/// Sections that one file reads and others take apart: where those are.
const HANDED_ON: &[(&str, &str)] = &[
    ("model", "petasos-providers/src/"),
    ("providers", "petasos-providers/src/"),
    ("mcp_servers", "petasos-mcp/src/"),
];

/// Our spelling of a name: entries of providers are read in the spelling of other programs, too.
fn snake(name: &str) -> String {
    let before = |letter: char| letter.is_ascii_uppercase().then_some('_');
    let spelled = |letter: char| before(letter).into_iter().chain([letter.to_ascii_lowercase()]);
    name.chars().flat_map(spelled).collect()
}

/// Whether one file reads the section and has the last name as a field or a text.
fn is_field(key: &Key, sources: &Sources) -> bool {
    let names: Vec<&str> = key.path.split('.').collect();
    let fixed: Vec<&str> =
        names.iter().copied().take_while(|name| *name != "*" && *name != "@task").collect();
    let around = if fixed.len() == names.len() { fixed.len() - 1 } else { fixed.len() };
    let last = snake(names.iter().rfind(|name| **name != "*" && **name != "@task").unwrap());
    let field = |(_, text): &(PathBuf, String)| {
        text.contains(&format!("\"{last}\""))
            || text.contains(&format!(" {last}: "))
            || text.contains(&format!("\"{last}_"))
    };
    let in_section = (1..=around).any(|length| {
        let section = fixed[..length].join(".");
        sources.with(&section).any(field) || sources.beginning(&format!("{section}.")).any(field)
    });
    let place = HANDED_ON.iter().find(|(section, _)| *section == names[0]);
    let asked = [format!("(\"{last}\")"), format!(", \"{last}\")"), format!("(\"{last}\",")];
    let handed = |(file, text): &(PathBuf, String)| {
        let here = place.is_some_and(|(_, folder)| file.to_string_lossy().contains(folder));
        here && asked.iter().any(|form| text.contains(form))
    };
    key.path.contains('.')
        && (in_section
            || sources.beginning(&format!("{}.{{", key.path)).next().is_some()
            || sources.with(&last).any(handed))
}

#[test]
fn every_key_has_a_reader_or_is_reserved() {
    let sources = Sources::read();
    let dead: Vec<&str> = keys::all()
        .filter(|key| key.reserved.is_none())
        .filter(|key| {
            !is_named(key, &sources) && !is_asked_for(key, &sources) && !is_field(key, &sources)
        })
        .map(|key| key.path)
        .collect();
    assert_eq!(dead, [""; 0], "read these, or mark them with `.reserved(..)`");
}

#[test]
fn what_is_reserved_is_read_by_nobody() {
    let sources = Sources::read();
    let alive: Vec<&str> = keys::all()
        .filter(|key| key.reserved.is_some())
        .filter(|key| is_named(key, &sources) || is_got(key, &sources))
        .map(|key| key.path)
        .collect();
    assert_eq!(alive, [""; 0], "these are read: take the mark away");
}

/// What is asked of a snapshot by a written path is a key that people can set, or a section.
#[test]
fn nothing_is_read_that_is_no_key() {
    let mut unknown = Vec::new();
    for (file, text) in Sources::read().files {
        for method in ["get", "text", "names", "limit"] {
            for part in text.split(&format!("settings.{method}(\"")).skip(1) {
                let path = part.split('"').next().unwrap_or_default();
                let names: Vec<String> = path.split('.').map(str::to_owned).collect();
                let section = format!("{path}.");
                let known = keys::find(&names).is_some()
                    || keys::all().any(|key| key.path.starts_with(&section))
                    || keys::TASKS.iter().any(|task| path == format!("auxiliary.{task}"));
                if !known {
                    unknown.push(format!("{path} in {}", file.display()));
                }
            }
        }
    }
    assert_eq!(
        unknown, [""; 0],
        "nobody can set these: add them to the table, or stop reading them"
    );
}

/// Numbers whose default is not written beside their name: where it is, word for word.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("tools.tool_search.threshold_pct", "petasos-runtime/src/search.rs", "threshold_percent: 10.0"),
    ("tools.tool_search.search_default_limit", "petasos-runtime/src/search.rs", " limit: 5"),
    ("tools.tool_search.max_search_limit", "petasos-runtime/src/search.rs", "limit_max: 20"),
    (
        "auxiliary.@task.download_timeout",
        "petasos-media/src/source.rs",
        "DOWNLOAD_SECONDS: u64 = 30",
    ),
    (
        "skills.inline_shell_timeout",
        "petasos-skills/src/settings.rs",
        "INLINE_TIMEOUT: Duration = Duration::from_secs(10)",
    ),
    ("file_read_max_chars", "petasos-tools/src/builtin/read_file.rs", "Self(100_000)"),
    ("mail.imap_port", "petasos-vendors/src/mail.rs", "imap_port.unwrap_or(993)"),
    ("mail.smtp_port", "petasos-vendors/src/mail.rs", "smtp_port.unwrap_or(587)"),
    (
        "x_search.timeout_seconds",
        "petasos-vendors/src/xsearch.rs",
        "timeout_seconds.unwrap_or(180)",
    ),
    ("x_search.retries", "petasos-vendors/src/xsearch.rs", "PAUSES: [Duration; 2]"),
    ("mcp_servers.*.timeout", "petasos-mcp/src/client/spec.rs", "seconds(\"timeout\", 300)"),
    (
        "mcp_servers.*.connect_timeout",
        "petasos-mcp/src/client/spec.rs",
        "seconds(\"connect_timeout\", 60)",
    ),
    (
        "mcp_servers.*.keepalive_interval",
        "petasos-mcp/src/client/spec.rs",
        "seconds(\"keepalive_interval\", 180)",
    ),
    ("mcp_servers.*.oauth.redirect_port", "petasos-mcp/src/client/spec.rs", ".unwrap_or(0)"),
];

/// Numbers for which the table gives the usual value and a reader computes its own: why.
const COMPUTED: &[(&str, &str)] = &[
    ("compression.threshold", "some models get another share"),
    ("terminal.ssh_port", "ssh itself takes 22 where its own configuration says nothing"),
];

/// A default stands in the table, for people, and in the code that obeys it. They are one.
#[test]
fn a_number_has_one_default() {
    let sources = Sources::read();
    let mut wrong = Vec::new();
    for key in keys::all().filter(|key| key.reserved.is_none()) {
        let numeric = matches!(key.kind, Kind::Integer | Kind::Number);
        let Some(wanted) = key.default_value().filter(|_| numeric).and_then(|it| it.as_f64())
        else {
            continue;
        };
        if COMPUTED.iter().any(|(path, _)| *path == key.path) {
            continue;
        }
        if let Some((_, file, text)) = ELSEWHERE.iter().find(|(path, ..)| *path == key.path) {
            let has = |(path, source): &(PathBuf, String)| {
                path.to_string_lossy().ends_with(file) && source.contains(text)
            };
            let number = format!("{wanted}");
            let says = text.replace('_', "").contains(&number);
            if !says || !sources.files.iter().any(has) {
                wrong.push(format!("{}: `{text}` is not in {file}", key.path));
            }
            continue;
        }
        let (section, _) = key.path.rsplit_once('.').unwrap_or(("", key.path));
        let first = key.path.split('.').next().unwrap_or_default();
        let near = [key.path, section, first].into_iter().flat_map(|it| sources.with(it));
        let found: Vec<f64> = near.flat_map(|(_, text)| defaults(key, text)).collect();
        if !found.contains(&wanted) {
            wrong.push(format!("{}: {wanted} in the table, {found:?} in the code", key.path));
        }
    }
    assert_eq!(wrong, [""; 0], "give both the same number, or say in `ELSEWHERE` where it is");
}

/// The numbers that a file takes where the key is not set.
fn defaults(key: &Key, text: &str) -> Vec<f64> {
    let mut found = Vec::new();
    for part in text.split(&format!("\"{}\"", key.path)).skip(1) {
        // The expression and the next one, up to the next name of a key.
        let near = part.split('"').next().unwrap_or_default();
        let near: Vec<&str> = near.split(';').take(2).collect();
        let near = near.join(";");
        let forms = ["unwrap_or(", "map_or("].map(|form| near.split(form).nth(1));
        let argument = near.strip_prefix(',');
        found.extend(forms.into_iter().flatten().chain(argument).filter_map(|it| number(it, text)));
    }
    let (section, last) = key.path.rsplit_once('.').unwrap_or(("", key.path));
    let first = key.path.split('.').next().unwrap_or_default();
    let reads = [section, first].iter().any(|it| text.contains(&format!("\"{it}\";")));
    if reads || text.contains(&format!("\"{section}\")")) {
        for form in [format!(" {last}: "), format!("(\"{last}\", ")] {
            found.extend(text.split(&form).skip(1).filter_map(|value| number(value, text)));
        }
    }
    found
}

/// What an expression comes to that begins with a number, a span of time or a constant.
fn number(expression: &str, file: &str) -> Option<f64> {
    let expression = expression.trim_start();
    for (word, seconds) in [("secs", 1.0), ("mins", 60.0), ("hours", 3600.0), ("millis", 0.001)] {
        let span = format!("Duration::from_{word}(");
        if let Some(inner) = expression.strip_prefix(&span) {
            return Some(number(inner, file)? * seconds);
        }
    }
    let word: String = expression
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.'))
        .collect();
    if word.starts_with(|letter: char| letter.is_ascii_uppercase()) {
        let defined = file.split(&format!("const {word}: ")).nth(1)?;
        return number(defined.split_once('=')?.1, file);
    }
    let plain = word.replace('_', "");
    let plain = plain.split_once(".m").map_or(plain.as_str(), |(number, _)| number);
    let value: f64 = plain.trim_end_matches("f64").trim_end_matches('.').parse().ok()?;
    let rest = expression.get(word.len()..)?.trim_start();
    if let Some(shift) = rest.strip_prefix("<<") {
        return Some(value * 2_f64.powf(number(shift, file)?));
    }
    match rest.strip_prefix("* ") {
        Some(factor) => Some(value * number(factor, file)?),
        None => Some(value),
    }
}

#[test]
fn a_reserved_key_says_that_it_has_no_effect() {
    let setting = Setting::new().user("agent: {prefill_messages_file: a.json, max_turns: 3}\n");
    let settings = load(&setting.inputs()).unwrap();
    let said: Vec<&str> = settings.notices().iter().map(|notice| notice.key.as_str()).collect();
    assert_eq!(said, ["agent.prefill_messages_file"]);
    assert!(settings.notices()[0].what.starts_with("reserved: no effect in this version"));
    let explained = explain(&settings, "agent.prefill_messages_file");
    assert!(explained.reserved.unwrap().contains("it waits for"));
    assert_eq!(explain(&settings, "agent.max_turns").reserved, None);
    let needless = explain(&settings, "display.persistent_output").reserved.unwrap();
    assert!(!needless.contains("waits") && needless.contains("the terminal keeps"), "{needless}");
    let silent = Setting::new();
    assert!(load(&silent.inputs()).unwrap().notices().is_empty());
}
