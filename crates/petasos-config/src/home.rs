//! Where the agent home is, and the files in it. Finding it touches no disk and creates nothing.
//!
//! `PETASOS_HOME`, else `HERMES_HOME`, else `~/.petasos`; a profile is a home of its own under
//! `profiles/`. A project may have a config file of its own in the workspace.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::ConfigError;
use crate::inputs::Inputs;

const PROFILES: &str = "profiles";
const PROFILE_LENGTH_MAX: usize = 64;

/// The places a snapshot is read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Places {
    /// The agent home, that of the profile when there is one.
    pub home: PathBuf,
    /// What decided on it.
    pub home_from: String,
    /// The profile, when it is not the main one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The user's configuration file.
    pub config: PathBuf,
    /// The dotenv file.
    pub dotenv: PathBuf,
    /// The user's own rows of the provider table.
    pub providers: PathBuf,
    /// Where a project's configuration file may be; the first that exists is read.
    pub project: [PathBuf; 2],
}

/// Finds the places for these inputs.
pub fn places(inputs: &Inputs) -> Result<Places, ConfigError> {
    let (root, home_from) = root(inputs)?;
    let asked = match &inputs.profile {
        Some(name) => Some((name.clone(), "command line".to_owned())),
        None => inputs.prefixed("PROFILE").map(|(name, value)| (value.to_owned(), name)),
    };
    let (home, profile, home_from) = if let Some((name, by)) = asked {
        check_profile(&name)?;
        let base = profile_of(&root).and_then(|_| root.parent()?.parent()).unwrap_or(&root);
        let profile = (name != "default").then_some(name);
        let home = match &profile {
            Some(name) => base.join(PROFILES).join(name),
            None => base.to_path_buf(),
        };
        (home, profile, format!("{home_from}, profile by {by}"))
    } else {
        let profile = profile_of(&root).map(str::to_owned);
        (root, profile, home_from)
    };
    Ok(Places {
        config: home.join("config.yaml"),
        dotenv: home.join(".env"),
        providers: home.join("providers.yaml"),
        project: [".petasos", ".hermes"].map(|dir| inputs.cwd.join(dir).join("config.yaml")),
        home,
        home_from,
        profile,
    })
}

/// The profile whose home this is, by its place.
pub fn profile_of(home: &Path) -> Option<&str> {
    let parent = home.parent()?;
    (parent.file_name()? == PROFILES).then(|| home.file_name()?.to_str())?
}

fn root(inputs: &Inputs) -> Result<(PathBuf, String), ConfigError> {
    let Some((variable, value)) = inputs.prefixed("HOME") else {
        let home = inputs.user_home.as_deref().ok_or(ConfigError::NoHome)?;
        return Ok((home.join(".petasos"), "built-in default".to_owned()));
    };
    let bad = |problem| ConfigError::BadHome {
        variable: variable.clone(),
        value: value.to_owned(),
        problem,
    };
    let path = match value.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = inputs.user_home.as_deref().ok_or(ConfigError::NoHome)?;
            home.join(rest.trim_start_matches('/'))
        }
        Some(_) => return Err(bad("which names another user's home")),
        None => PathBuf::from(value),
    };
    if !path.is_absolute() {
        return Err(bad("which depends on the working directory"));
    }
    Ok((path, variable))
}

fn check_profile(name: &str) -> Result<(), ConfigError> {
    let fits = !name.is_empty()
        && name.len() <= PROFILE_LENGTH_MAX
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
    if fits { Ok(()) } else { Err(ConfigError::BadProfile { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(environment: &[(&str, &str)], profile: Option<&str>) -> Inputs {
        Inputs {
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            profile: profile.map(str::to_owned),
            cwd: PathBuf::from("/project"),
            user_home: Some(PathBuf::from("/home/ada")),
            ..Inputs::default()
        }
    }

    #[test]
    fn the_home_is_the_first_of_petasos_hermes_and_the_default() {
        type Pairs = &'static [(&'static str, &'static str)];
        let cases: &[(Pairs, Option<&str>, &str)] = &[
            (&[], None, "/home/ada/.petasos"),
            (&[("HERMES_HOME", "/h")], None, "/h"),
            (&[("HERMES_HOME", "/h"), ("PETASOS_HOME", "/p")], None, "/p"),
            (&[("HERMES_HOME", "/h"), ("PETASOS_HOME", "")], None, "/h"),
            (&[("PETASOS_HOME", "~/agent")], None, "/home/ada/agent"),
            (&[("PETASOS_HOME", "/p")], Some("work"), "/p/profiles/work"),
            (&[("PETASOS_HOME", "/p"), ("HERMES_PROFILE", "x")], None, "/p/profiles/x"),
            (&[("PETASOS_HOME", "/p/profiles/a")], Some("b"), "/p/profiles/b"),
            (&[("PETASOS_HOME", "/p/profiles/a")], Some("default"), "/p"),
        ];
        for (environment, profile, home) in cases {
            let places = places(&inputs(environment, *profile)).unwrap();
            assert_eq!(places.home, Path::new(home), "{environment:?} {profile:?}");
        }
    }

    #[test]
    fn a_home_or_profile_that_could_be_anywhere_is_refused() {
        assert!(places(&inputs(&[("PETASOS_HOME", "agent")], None)).is_err());
        assert!(places(&inputs(&[("PETASOS_HOME", "~bob/agent")], None)).is_err());
        assert!(places(&inputs(&[], Some("../etc"))).is_err());
        assert!(places(&inputs(&[], Some(""))).is_err());
    }
}
