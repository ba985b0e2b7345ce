//! Variables and flags as offers: which spelling, which file, and whether the value fits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use petasos_contract::Secret;
use petasos_contract::settings::{Notice, Source, Variable};
use serde_json::Value;

use super::slots::{Offer, Slots};
use crate::dotenv::DotEnv;
use crate::error::Problem;
use crate::inputs::{Inputs, Override};
use crate::keys::{self, TASKS};
use crate::mask;
use crate::strict::{from_text, names};
use crate::variables::{self, Meaning, Names, Row};

/// Only these beginnings can set a key, so that the rest of the environment costs nothing.
const SETTING_PREFIXES: [&str; 4] = ["PETASOS_", "HERMES_", "TERMINAL_", "AUXILIARY_"];

/// A variable as it stands in one place.
#[derive(Debug, Clone, Copy)]
struct Held<'a> {
    value: &'a str,
    in_file: bool,
}

/// The variables of the process and the dotenv file.
#[derive(Debug)]
pub(super) struct Variables<'a> {
    process: &'a BTreeMap<String, String>,
    file: BTreeMap<&'a str, &'a str>,
    path: &'a Path,
}

impl<'a> Variables<'a> {
    pub(super) fn new(inputs: &'a Inputs, dotenv: &'a DotEnv, path: &'a Path) -> Self {
        let file = dotenv.pairs.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        Self { process: &inputs.environment, file, path }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.held(name).map(|held| held.value)
    }

    fn held(&self, name: &str) -> Option<Held<'a>> {
        let process = self.process.get(name).map(|value| Held { value, in_file: false });
        let file = self.file.get(name).map(|value| Held { value, in_file: true });
        match (process, file) {
            (Some(process), Some(_)) if variables::process_first(name) => Some(process),
            (process, file) => file.or(process),
        }
    }

    /// First absolute of the usual three.
    pub(super) fn temp(&self) -> PathBuf {
        ["TMPDIR", "TMP", "TEMP"]
            .into_iter()
            .filter_map(|name| self.process.get(name))
            .map(PathBuf::from)
            .find(|path| path.is_absolute())
            .unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    pub(super) fn into_map(self) -> BTreeMap<String, Variable> {
        let names = self.process.keys().map(String::as_str).chain(self.file.keys().copied());
        names
            .filter_map(|name| {
                let held = self.held(name)?;
                let value = Secret::new(held.value);
                Some((name.to_owned(), Variable { value, source: self.source(name, held.in_file) }))
            })
            .collect()
    }

    fn source(&self, variable: &str, in_file: bool) -> Source {
        let variable = variable.to_owned();
        if in_file {
            Source::DotEnv { file: self.path.to_path_buf(), variable }
        } else {
            Source::Environment { variable }
        }
    }

    /// Names that look like ours and that nobody reads, and values that could not be read.
    pub(super) fn notices(&self, inputs: &Inputs) -> Vec<Notice> {
        let mut notices = Vec::new();
        for name in self.ours(&SETTING_PREFIXES[..2]) {
            if variables::find(name).is_some() {
                continue;
            }
            let nearest = variables::nearest_of_ours(name);
            // Other programs have many of the old spelling; only a near miss is worth a word.
            if nearest.is_none() && name.starts_with("HERMES_") {
                continue;
            }
            let hint = nearest.map_or_else(
                || "unset it".to_owned(),
                |nearest| format!("did you mean `{nearest}`?"),
            );
            let what = format!("`{name}` is not a variable that anything reads");
            notices.push(Notice { key: name.to_owned(), what, hint });
        }
        for name in ["PETASOS_HOME", "HERMES_HOME", "PETASOS_PROFILE", "HERMES_PROFILE"] {
            if self.file.contains_key(name) {
                notices.push(Notice {
                    key: name.to_owned(),
                    what: format!("`{name}` in {} has no effect", self.path.display()),
                    hint: "export it in the shell: it says where this very file is".to_owned(),
                });
            }
        }
        for name in inputs.unreadable.iter().filter(|name| variables::find(name).is_some()) {
            notices.push(Notice {
                key: name.clone(),
                what: format!("`{name}` is not UTF-8 text and was left out"),
                hint: "set it again".to_owned(),
            });
        }
        notices
    }

    fn ours(&self, prefixes: &[&'static str]) -> Vec<&'a str> {
        let mut names = Vec::new();
        for prefix in prefixes {
            let process = self
                .process
                .range::<str, _>((std::ops::Bound::Included(*prefix), std::ops::Bound::Unbounded));
            names.extend(
                process.map(|(name, _)| name.as_str()).take_while(|name| name.starts_with(prefix)),
            );
            names.extend(
                self.file
                    .keys()
                    .copied()
                    .filter(|name| name.starts_with(prefix) && !self.process.contains_key(*name)),
            );
        }
        names
    }

    /// Offers every variable that sets a key, the strongest spelling and place first.
    pub(super) fn fold(
        &self,
        slots: &mut Slots,
        notices: &mut Vec<Notice>,
        problems: &mut Vec<Problem>,
    ) {
        for in_file in [false, true] {
            for name in self.ours(&SETTING_PREFIXES) {
                let value = if in_file {
                    self.file.get(name).copied()
                } else {
                    self.process.get(name).map(String::as_str)
                };
                // An empty variable says nothing: it is how a shell unsets one for a command.
                let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
                let Some(row) = variables::find(name) else { continue };
                let source = self.source(name, in_file);
                if let Err(refusal) = offer(slots, row, (name, value), source) {
                    refusal.file(name, notices, problems);
                }
            }
        }
    }
}

/// Why a variable sets nothing.
struct Refusal {
    what: String,
    security: bool,
}

impl Refusal {
    fn file(self, name: &str, notices: &mut Vec<Notice>, problems: &mut Vec<Problem>) {
        let hint = format!("mend or unset `{name}`");
        if self.security {
            problems.push(Problem {
                key: name.to_owned(),
                place: name.to_owned(),
                at: None,
                what: self.what,
                hint,
            });
        } else {
            notices.push(Notice { key: name.to_owned(), what: self.what, hint });
        }
    }
}

fn offer(
    slots: &mut Slots,
    row: &Row,
    (name, text): (&str, &str),
    source: Source,
) -> Result<(), Refusal> {
    let Meaning::Setting(pattern, wins) = row.meaning else { return Ok(()) };
    let path = match row.names {
        Names::Like(start, end) => {
            let task = name
                .strip_prefix(start)
                .and_then(|rest| rest.strip_suffix(end))
                .unwrap_or_default()
                .to_ascii_lowercase();
            if !TASKS.contains(&task.as_str()) {
                let what = format!("`{name}`: there is no side task `{task}`");
                return Err(Refusal { what, security: false });
            }
            names(&pattern.replace("@task", &task))
        }
        Names::Ours(_) | Names::Fixed(_) => names(pattern),
    };
    let Some(key) = keys::find(&path) else { return Ok(()) };
    match from_text(key, text, true) {
        Ok(value) => {
            let shown = mask::masked(&mut path.clone(), &value);
            slots.variable(path, wins, Offer { value, shown, source, refused: None });
            Ok(())
        }
        Err(expected) => {
            let refused = Some(format!("it must be {expected}"));
            let value = Value::from(text);
            let shown = mask::masked(&mut path.clone(), &value);
            slots.variable(path, wins, Offer { value, shown, source, refused });
            let what = format!("`{name}` must be {expected}; it sets `{}`", key.path);
            Err(Refusal { what, security: keys::is_security(key.path) })
        }
    }
}

/// Offers every value of the command line; one that does not fit refuses the start.
pub(super) fn flags(overrides: &[Override], slots: &mut Slots, problems: &mut Vec<Problem>) {
    for given in overrides {
        let path = names(&given.key);
        let mut problem = |what: String, hint: String| {
            problems.push(Problem {
                key: given.key.clone(),
                place: given.flag.clone(),
                at: None,
                what,
                hint,
            });
        };
        let Some(key) = keys::find(&path) else {
            let known = keys::all().map(|key| key.path);
            let hint = keys::nearest(&given.key, known).map_or_else(
                || "see `petasos config explain` for the known keys".to_owned(),
                |nearest| format!("did you mean `{nearest}`?"),
            );
            problem(format!("`{}` is not a known key", given.key), hint);
            continue;
        };
        match from_text(key, &given.value, false) {
            Ok(value) => {
                let shown = if key.kind == keys::Kind::Secret {
                    mask::hidden(&given.value)
                } else {
                    mask::masked(&mut path.clone(), &value)
                };
                let source = Source::Flag { flag: given.flag.clone() };
                slots.flag(path, Offer { value, shown, source, refused: None });
            }
            Err(expected) => problem(
                format!("`{}` must be {expected}", given.key),
                format!("see `petasos config explain {}`", given.key),
            ),
        }
    }
}
