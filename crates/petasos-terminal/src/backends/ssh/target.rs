//! Which machine, as whom, by which key: the `ssh_*` keys of the `terminal` section.
//!
//! Reads and checks; connects to nobody. What is not set here stays with the user's own ssh
//! configuration, so an alias of it with its port, user, key and jump hosts works as a host.

use std::path::{Path, PathBuf};

use petasos_contract::Settings;
use petasos_contract::settings::{Section, Source};
use serde::Deserialize;

/// The section as it is written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Written {
    #[serde(rename = "ssh_host")]
    host: Option<String>,
    #[serde(rename = "ssh_user")]
    user: Option<String>,
    #[serde(rename = "ssh_port")]
    port: Option<u32>,
    #[serde(rename = "ssh_key")]
    key: Option<String>,
    #[serde(rename = "ssh_config")]
    config: Option<String>,
}

impl Section for Written {
    const NAME: &'static str = "terminal";
}

/// A machine to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) user: Option<String>,
    /// Only when a person chose one: the built-in 22 must not hide an alias's own port.
    pub(super) port: Option<u16>,
    pub(super) key: Option<PathBuf>,
    /// Read in place of the user's own ssh configuration.
    pub(super) config: Option<PathBuf>,
}

impl Target {
    /// The machine that the settings name, or what is wrong with them.
    pub(super) fn of(settings: &Settings) -> Result<Self, String> {
        let written: Written = settings.section().map_err(|error| error.to_string())?;
        let home = settings.user_home();
        let host = present(written.host).ok_or_else(|| {
            "`terminal.ssh_host` is not set: name the host, or an alias of your ssh configuration"
                .to_owned()
        })?;
        let host = checked("terminal.ssh_host", host)?;
        let user = present(written.user);
        let user = user.map(|user| checked("terminal.ssh_user", user)).transpose()?;
        let port = written.port.filter(|_| chosen(settings, "terminal.ssh_port"));
        let port = port.map(port_number).transpose()?;
        let key = file("terminal.ssh_key", written.key, home)?;
        let config = file("terminal.ssh_config", written.config, home)?;
        Ok(Self { host, user, port, key, config })
    }

    /// For people: `ssh:me@host:2222`.
    pub(super) fn label(&self) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("ssh:{user}{}{port}", self.host)
    }
}

/// Whether a person set a key; what only tests and embedders have counts as set.
fn chosen(settings: &Settings, key: &str) -> bool {
    settings.explain(key).first().is_none_or(|layer| layer.source != Source::Default)
}

fn present(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A word that ssh can take for nothing but a name: no option, no second word, no `user@`.
fn checked(key: &str, word: String) -> Result<String, String> {
    let strange = |letter: char| {
        letter.is_whitespace() || letter.is_control() || "'\"`$\\;&|<>(){}*?!#@/".contains(letter)
    };
    if word.starts_with('-') || word.chars().any(strange) {
        return Err(format!("`{key}` is `{word}`, which cannot be a name: write it plainly"));
    }
    Ok(word)
}

fn port_number(port: u32) -> Result<u16, String> {
    u16::try_from(port)
        .ok()
        .filter(|port| *port != 0)
        .ok_or_else(|| format!("`terminal.ssh_port` is {port}: use a number from 1 to 65535"))
}

/// A file of this machine that must be there; `~` is the user's home.
fn file(key: &str, path: Option<String>, home: &Path) -> Result<Option<PathBuf>, String> {
    let Some(path) = present(path) else { return Ok(None) };
    let path = match path.strip_prefix("~/") {
        Some(below) => home.join(below),
        None => PathBuf::from(path),
    };
    if !path.is_file() {
        return Err(format!("`{key}` is `{}`, and there is no such file", path.display()));
    }
    Ok(Some(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use petasos_contract::settings::{Layered, Parts};
    use serde_json::{Value, json};

    fn of(terminal: &Value) -> Result<Target, String> {
        let values = json!({ "terminal": terminal }).as_object().cloned().unwrap();
        Target::of(&Settings::from_values(values))
    }

    #[test]
    fn the_label_names_what_was_chosen() {
        let rows = [
            (json!({ "ssh_host": "box" }), "ssh:box"),
            (json!({ "ssh_host": " box ", "ssh_user": "me" }), "ssh:me@box"),
            (json!({ "ssh_host": "10.0.0.1", "ssh_port": 2222 }), "ssh:10.0.0.1:2222"),
            (json!({ "ssh_host": "::1", "ssh_user": "" }), "ssh:::1"),
        ];
        for (terminal, label) in rows {
            assert_eq!(of(&terminal).unwrap().label(), label);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        let rows = [
            (json!({}), "ssh_host"),
            (json!({ "ssh_host": "  " }), "ssh_host"),
            (json!({ "ssh_host": "-oProxyCommand=reboot" }), "ssh_host"),
            (json!({ "ssh_host": "a b" }), "ssh_host"),
            (json!({ "ssh_host": "a;b" }), "ssh_host"),
            (json!({ "ssh_host": "a", "ssh_user": "-l" }), "ssh_user"),
            (json!({ "ssh_host": "a", "ssh_port": 0 }), "ssh_port"),
            (json!({ "ssh_host": "a", "ssh_port": 70000 }), "ssh_port"),
            (json!({ "ssh_host": "a", "ssh_key": "/nonexistent/key" }), "ssh_key"),
            (json!({ "ssh_host": "a", "ssh_config": "~/nonexistent" }), "ssh_config"),
        ];
        for (terminal, key) in rows {
            let why = of(&terminal).unwrap_err();
            assert!(why.contains(&format!("`terminal.{key}`")), "{terminal}: {why}");
        }
    }

    #[test]
    fn the_built_in_port_leaves_an_alias_its_own() {
        let value = json!(22);
        let layer = Layered { value, source: Source::Default, passed_over: None };
        let values = json!({ "terminal": { "ssh_host": "alias", "ssh_port": 22 } });
        let settings = Settings::new(Parts {
            values: values.as_object().cloned().unwrap(),
            sources: [("terminal.ssh_port".to_owned(), vec![layer])].into(),
            ..Parts::default()
        });
        assert_eq!(Target::of(&settings).unwrap().port, None);
    }
}
