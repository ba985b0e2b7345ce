//! One rule, and when it speaks: loosely for refusing and asking, strictly for allowing.
//!
//! Refusing looks at every command by its program's name, through wrappers. Allowing wants the words
//! as they are, every command of a list covered, and nothing written or substituted on the side.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::deed::{Access, Deed, Kind, Step, has_side_channel};
use super::example::Examples;
use super::glob::{Anchors, Glob, PathGlob, is_pattern};

/// Programs that run what they are given: allowing one by its name allows everything.
const RUNNERS: &str = "* awk bash builtin busybox cmd command csh dash deno doas docker env eval exec find \
    fish gawk ionice kubectl ksh lua nice node nohup osascript parallel perl php podman \
    powershell pwsh python python2 python3 ruby setsid sh ssh su sudo tclsh time timeout \
    xargs zsh";

/// Stands for a word that is not known before the command runs.
const UNKNOWN: char = '…';

#[derive(Deserialize)]
#[serde(untagged)]
enum Many {
    One(String),
    Several(Vec<String>),
}

impl Many {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Several(texts) => texts,
        }
    }
}

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tool: Option<Many>,
    command: Option<Many>,
    #[serde(default)]
    exact: bool,
    path: Option<Many>,
    access: Option<Access>,
    host: Option<Many>,
    target: Option<Many>,
    why: Option<String>,
    #[serde(default, rename = "match")]
    matching: Vec<Value>,
    #[serde(default)]
    not_match: Vec<Value>,
}

/// A rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) tools: Vec<Glob>,
    pub(crate) command: Vec<Glob>,
    pub(crate) exact: bool,
    pub(crate) paths: Vec<PathGlob>,
    pub(crate) access: Option<Access>,
    pub(crate) hosts: Vec<Glob>,
    pub(crate) targets: Vec<Glob>,
    pub(crate) why: Option<String>,
}

impl Rule {
    /// Reads a rule and its examples.
    pub(super) fn read(value: &Value) -> Result<(Self, Examples), String> {
        if !value.is_object() {
            return Err(
                "a rule is a map with `tool`, `command`, `path`, `host` or `target`".to_owned()
            );
        }
        let written: Written =
            serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        let texts = |many: Option<Many>| many.map(Many::into_vec).unwrap_or_default();
        let command = match written.command {
            Some(Many::One(text)) => words(&text)?,
            other => texts(other),
        };
        let rule = Self {
            tools: texts(written.tool).iter().map(|text| Glob::new(text)).collect(),
            command: command.iter().map(|text| Glob::new(text)).collect(),
            exact: written.exact,
            paths: texts(written.path).iter().map(|text| PathGlob::new(text)).collect(),
            access: written.access,
            hosts: texts(written.host).iter().map(|text| Glob::ignoring_case(text)).collect(),
            targets: texts(written.target).iter().map(|text| Glob::ignoring_case(text)).collect(),
            why: written.why,
        };
        rule.refuse_nonsense()?;
        Ok((rule, Examples { matching: written.matching, not_match: written.not_match }))
    }

    fn refuse_nonsense(&self) -> Result<(), String> {
        let named = self.tools.iter().chain(&self.command).chain(&self.hosts);
        let named = named.chain(&self.targets).map(Glob::as_str);
        if named.chain(self.paths.iter().map(PathGlob::as_str)).any(str::is_empty) {
            return Err("an empty name matches nothing; remove it".to_owned());
        }
        if self.names_only_tools() && self.tools.is_empty() {
            return Err(
                "it names nothing; add `tool`, `command`, `path`, `host` or `target`".to_owned()
            );
        }
        if self.exact && self.command.is_empty() {
            return Err("`exact` needs a `command`".to_owned());
        }
        if self.access.is_some() && self.paths.is_empty() {
            return Err("`access` needs a `path`".to_owned());
        }
        Ok(())
    }

    /// Allowing a program that runs whatever it is given would allow everything.
    pub(crate) fn refuse_blank_cheque(&self) -> Result<(), String> {
        let Some(first) = self.command.first() else { return Ok(()) };
        let name = base(first.as_str());
        if is_pattern(name) {
            return Err("the program of an allowed command must be named, not a pattern".to_owned());
        }
        if self.command.len() == 1 && !self.exact && RUNNERS.split(' ').any(|runner| runner == name)
        {
            return Err(format!(
                "`{name}` runs whatever it is given, so this would allow everything; name more \
                 words of the command"
            ));
        }
        Ok(())
    }

    fn names_only_tools(&self) -> bool {
        self.command.is_empty()
            && self.paths.is_empty()
            && self.hosts.is_empty()
            && self.targets.is_empty()
    }

    fn names_tool(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|glob| glob.matches(tool))
    }

    /// Whether any part of this is what the rule is about; for refusing and asking.
    pub(crate) fn touches(&self, deed: &Deed, anchors: Anchors<'_>) -> bool {
        self.names_tool(&deed.tool)
            && (self.command.is_empty() || deed.steps.iter().any(|step| self.is_step(step)))
            && (self.paths.is_empty()
                || deed.touched.iter().any(|touch| {
                    let gone = touch.access == Access::Delete;
                    self.is_access(touch.access)
                        && self.paths.iter().any(|glob| {
                            glob.may_match(&touch.path, anchors)
                                || gone && glob.lies_below(&touch.path, anchors)
                        })
                }))
            && (self.hosts.is_empty() || deed.hosts.iter().any(|host| self.is_host(host)))
            && (self.targets.is_empty() || deed.targets.iter().any(|target| self.is_target(target)))
    }

    fn is_target(&self, target: &str) -> bool {
        self.targets.iter().any(|glob| glob.matches(target))
    }

    fn is_access(&self, access: Access) -> bool {
        match self.access {
            None => true,
            // Deleting is a way of writing.
            Some(Access::Write) => access != Access::Read,
            Some(wanted) => wanted == access,
        }
    }

    fn is_host(&self, host: &str) -> bool {
        let host = host.rsplit('@').next().unwrap_or(host);
        let host = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
            _ => host,
        };
        let host = host.trim_start_matches('[').trim_end_matches([']', '.']);
        self.hosts.iter().any(|glob| glob.matches(host))
    }

    /// Loosely: by the program's name, with or without what it is wrapped in.
    fn is_step(&self, step: &Step) -> bool {
        let wrapped: Vec<String> = step.via.iter().chain(&step.argv).cloned().collect();
        [&step.argv, &wrapped].into_iter().any(|argv| {
            self.begins(argv, |glob, at, word| {
                glob.matches(word) || at == 0 && glob.matches(base(word))
            })
        })
    }

    /// Strictly: the words as they are, wrappers named.
    fn is_whole_step(&self, step: &Step) -> bool {
        let wrapped: Vec<String> = step.via.iter().chain(&step.argv).cloned().collect();
        !self.command.is_empty()
            && self.begins(&wrapped, |glob, _, word| !word.contains(UNKNOWN) && glob.matches(word))
    }

    fn begins(&self, argv: &[String], fits: impl Fn(&Glob, usize, &str) -> bool) -> bool {
        (argv.len() == self.command.len() || !self.exact && argv.len() > self.command.len())
            && self
                .command
                .iter()
                .zip(argv)
                .enumerate()
                .all(|(at, (glob, word))| fits(glob, at, word))
    }

    /// Whether the rule by itself allows everything of a deed that has no commands.
    fn covers_plain(&self, deed: &Deed, anchors: Anchors<'_>) -> bool {
        if self.names_only_tools() {
            return self.names_tool(&deed.tool);
        }
        if !self.command.is_empty() || !self.names_tool(&deed.tool) {
            return false;
        }
        let (paths, hosts) = (self.paths.is_empty(), self.hosts.is_empty());
        let targets = self.targets.is_empty();
        match deed.kind {
            Kind::File => hosts && targets && self.covers_paths(deed, anchors),
            Kind::Host => paths && targets && deed.hosts.iter().all(|host| self.is_host(host)),
            Kind::Target => {
                paths && hosts && deed.targets.iter().all(|target| self.is_target(target))
            }
            Kind::Program | Kind::Other => false,
        }
    }

    fn covers_paths(&self, deed: &Deed, anchors: Anchors<'_>) -> bool {
        deed.touched.iter().all(|touch| {
            self.is_access(touch.access)
                && self.paths.iter().any(|glob| glob.matches(&touch.path, anchors))
        })
    }

    fn covers_step(&self, step: &Step, deed: &Deed, anchors: Anchors<'_>) -> bool {
        self.names_tool(&deed.tool)
            && self.targets.is_empty()
            && self.is_whole_step(step)
            && (self.paths.is_empty() || self.covers_paths(deed, anchors))
            && (self.hosts.is_empty() || deed.hosts.iter().all(|host| self.is_host(host)))
    }
}

/// A rule that allows, as a grant spells it.
pub(crate) fn from_value(value: &Value) -> Result<Rule, String> {
    let (rule, _) = Rule::read(value)?;
    rule.refuse_blank_cheque()?;
    Ok(rule)
}

/// The rules that between them allow all of a deed.
pub(crate) fn covering(rules: &[Rule], deed: &Deed, anchors: Anchors<'_>) -> Option<String> {
    if let Some(rule) = rules.iter().find(|rule| rule.covers_plain(deed, anchors)) {
        return Some(rule.to_string());
    }
    let script = deed.script.as_deref()?;
    if deed.kind != Kind::Program || deed.steps.is_empty() || has_side_channel(script) {
        return None;
    }
    let mut used: Vec<String> = Vec::new();
    for step in &deed.steps {
        let rule = rules.iter().find(|rule| rule.covers_step(step, deed, anchors))?.to_string();
        if !used.contains(&rule) {
            used.push(rule);
        }
    }
    Some(used.join(", "))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut part = |name: &str, texts: Vec<&str>, between: &str| -> fmt::Result {
            if texts.is_empty() {
                return Ok(());
            }
            let space = if std::mem::take(&mut first) { "" } else { " " };
            write!(f, "{space}{name} {}", texts.join(between))
        };
        part("tool", self.tools.iter().map(Glob::as_str).collect(), "|")?;
        let command = if self.exact { "exactly" } else { "command" };
        part(command, self.command.iter().map(Glob::as_str).collect(), " ")?;
        let path = match self.access {
            None => "path",
            Some(Access::Read) => "read",
            Some(Access::Write) => "write",
            Some(Access::Delete) => "delete",
        };
        part(path, self.paths.iter().map(PathGlob::as_str).collect(), "|")?;
        part("host", self.hosts.iter().map(Glob::as_str).collect(), "|")?;
        part("target", self.targets.iter().map(Glob::as_str).collect(), "|")
    }
}

/// The name of a program without its directory.
pub(crate) fn base(program: &str) -> &str {
    program.rsplit(['/', '\\']).next().unwrap_or(program)
}

/// Words without quoting; quoted ones are written as a list, where nothing has to be guessed.
fn words(text: &str) -> Result<Vec<String>, String> {
    if text.contains(['\'', '"', '\\', '$', '`']) {
        return Err("write a command with quotes as a list of words".to_owned());
    }
    if super::deed::is_compound(text) {
        return Err("a rule names one command; write a rule for each".to_owned());
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() { Err("`command` is empty".to_owned()) } else { Ok(words) }
}

/// A text short enough for an error.
pub(crate) fn shortened(text: &str) -> String {
    const LENGTH_MAX: usize = 120;
    match text.char_indices().nth(LENGTH_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
