//! The dotenv file: lines of `NAME=value`, read without touching the process environment, and
//! changed one line at a time.
//!
//! Tolerates a byte order mark, `export`, quotes, values over several lines, inline comments and
//! stray NUL bytes. A line that is none of this is a notice, and the rest of the file still counts.
//! `${NAME}` is filled in from lines above and the process; a bare `$` is left alone, because keys
//! and passwords contain it.

mod lines;

use std::path::Path;

use petasos_contract::settings::Notice;

use crate::error::ConfigError;
use crate::expand::expand;
use crate::variables;
use lines::Line;

const BYTES_MAX: u64 = 1 << 20;
const MODE_PRIVATE: u32 = 0o600;

/// What a dotenv file says.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct DotEnv {
    /// Names and values in file order; a later line of the same name counts.
    pub pairs: Vec<(String, String)>,
    /// What a person should know about it.
    pub notices: Vec<Notice>,
}

/// Reads a file; one that does not exist says nothing.
pub fn read<'a>(
    file: &Path,
    process: impl Fn(&str) -> Option<&'a str>,
) -> Result<DotEnv, ConfigError> {
    let Some(bytes) = crate::layers::file_bytes(file, BYTES_MAX)? else {
        return Ok(DotEnv::default());
    };
    let text = String::from_utf8(bytes).map_err(|error| ConfigError::Unusable {
        file: file.to_path_buf(),
        problem: format!(
            "is not UTF-8 text (byte {}); save it as UTF-8",
            error.utf8_error().valid_up_to()
        ),
    })?;
    Ok(parse(&text, file, process))
}

/// Reads a text.
pub fn parse<'a>(text: &str, file: &Path, process: impl Fn(&str) -> Option<&'a str>) -> DotEnv {
    let mut found = DotEnv::default();
    for line in lines::split(text) {
        match line {
            Line::Other(_) => {}
            Line::Broken { number, .. } => found.notices.push(Notice {
                key: ".env".to_owned(),
                what: format!("{}:{number} is not `NAME=value` and was skipped", file.display()),
                hint: "mend or remove the line".to_owned(),
            }),
            Line::Pair { name, value, literal, .. } => {
                let value = if literal { value } else { filled(&found, value, &process) };
                let value = cleaned(&name, value, file, &mut found.notices);
                found.pairs.push((name, value));
            }
        }
    }
    found
}

/// Sets one name, keeping every other line. The file is created for its owner only.
pub fn set(file: &Path, name: &str, value: &str) -> Result<(), ConfigError> {
    if !lines::is_name(name) {
        return Err(ConfigError::key(name, "a variable is letters, digits and `_`"));
    }
    if value.contains(['\0', '\r']) {
        return Err(ConfigError::key(name, "the value holds a control character"));
    }
    change(file, |text| lines::with(text, name, value))
}

/// Removes one name. Says whether it was there.
pub fn unset(file: &Path, name: &str) -> Result<bool, ConfigError> {
    let mut removed = false;
    change(file, |text| {
        let (text, found) = lines::without(text, name);
        removed = found;
        text
    })?;
    Ok(removed)
}

fn change(file: &Path, edit: impl FnOnce(&str) -> String) -> Result<(), ConfigError> {
    let target = petasos_fs::target_of(file)?;
    let _lock = petasos_fs::lock(&target)?;
    let text = match crate::layers::file_bytes(&target, BYTES_MAX)? {
        Some(bytes) => String::from_utf8(bytes).map_err(|_| ConfigError::Unusable {
            file: target.clone(),
            problem: "is not UTF-8 text; save it as UTF-8".to_owned(),
        })?,
        None => String::new(),
    };
    let changed = edit(&text);
    if changed == text {
        return Ok(());
    }
    let mode = petasos_fs::Mode::Exactly(MODE_PRIVATE);
    Ok(petasos_fs::write_locked(&target, changed.as_bytes(), mode)?)
}

fn filled<'a>(found: &DotEnv, value: String, process: &impl Fn(&str) -> Option<&'a str>) -> String {
    let above = |name: &str| {
        let line = found.pairs.iter().rev().find(|(other, _)| other == name);
        line.map(|(_, value)| value.as_str())
    };
    match expand(&value, |name| above(name).or_else(|| process(name))) {
        Some(expanded) => expanded.text,
        None => value,
    }
}

/// Keys are pasted from web pages: what is not plain text in them is never part of the key.
fn cleaned(name: &str, value: String, file: &Path, notices: &mut Vec<Notice>) -> String {
    let is_key = variables::is_secret(name) && name != "SUDO_PASSWORD";
    if value.is_ascii() && !value.contains('\0') || !is_key {
        return value;
    }
    notices.push(Notice {
        key: name.to_owned(),
        what: format!("`{name}` in {} holds characters that no key has", file.display()),
        hint: "they were left out; paste the key again".to_owned(),
    });
    value.chars().filter(|c| c.is_ascii() && *c != '\0').collect()
}

#[cfg(test)]
mod tests;
