//! The shared files of Amazon's tools: keys and regions by profile. Read only.

use std::collections::BTreeMap;
use std::path::Path;

use petasos_contract::{Secret, Settings};

use crate::credential::borrowed::Unreadable;
use crate::runtime::AwsKeys;

/// One profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Its keys, when they are written down.
    pub keys: Option<AwsKeys>,
    /// Its region.
    pub region: Option<String>,
}

/// The profiles of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AwsProfiles(BTreeMap<String, Profile>);

type Sections = BTreeMap<String, BTreeMap<String, String>>;

impl AwsProfiles {
    /// Reads `credentials` and `config`; missing files are empty.
    pub fn read(settings: &Settings) -> Result<Self, Unreadable> {
        let folder = settings.user_home().join(".aws");
        let place = |name: &str, usual: &str| match settings.variable(name) {
            Some(variable) => Path::new(variable.value.expose()).to_owned(),
            None => folder.join(usual),
        };
        let credentials = text(&place("AWS_SHARED_CREDENTIALS_FILE", "credentials"))?;
        let config = text(&place("AWS_CONFIG_FILE", "config"))?;
        Ok(Self::from_texts(&credentials, &config))
    }

    /// Takes the content of both files.
    pub fn from_texts(credentials: &str, config: &str) -> Self {
        let mut profiles: BTreeMap<String, Profile> = BTreeMap::new();
        for (name, fields) in sections(credentials).into_iter().chain(sections(config)) {
            // The second file calls its sections `profile x`, except for the default one.
            let name = name.strip_prefix("profile ").unwrap_or(&name).trim().to_owned();
            let profile = profiles.entry(name).or_default();
            profile.keys = profile.keys.take().or_else(|| keys(&fields));
            profile.region = profile.region.take().or_else(|| fields.get("region").cloned());
        }
        Self(profiles)
    }

    /// A profile by name.
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.0.get(name)
    }
}

fn text(path: &Path) -> Result<String, Unreadable> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Unreadable { path: path.to_owned(), problem: error.to_string() }),
    }
}

fn sections(text: &str) -> Sections {
    let mut sections = Sections::new();
    let mut name = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(heading) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            heading.trim().clone_into(&mut name);
        } else if let Some((key, value)) = line.split_once('=') {
            let fields = sections.entry(name.clone()).or_default();
            fields.insert(key.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    sections
}

fn keys(fields: &BTreeMap<String, String>) -> Option<AwsKeys> {
    Some(AwsKeys {
        access_key_id: fields.get("aws_access_key_id")?.clone(),
        secret_access_key: Secret::new(fields.get("aws_secret_access_key")?.as_str()),
        session_token: fields.get("aws_session_token").map(|token| Secret::new(token.as_str())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_region_of_a_profile_come_from_two_files() {
        let credentials = "# mine\n[default]\naws_access_key_id = AKIA1\naws_secret_access_key=s1\n\n\
            [work]\naws_access_key_id=AKIA2\naws_secret_access_key=s2\naws_session_token=t2\n";
        let config = "[default]\nregion=eu-west-1\n[profile work]\nregion = us-west-2\n[profile sso]\nsso_x=1\n";
        let profiles = AwsProfiles::from_texts(credentials, config);
        let work = profiles.get("work").unwrap();
        assert_eq!(work.region.as_deref(), Some("us-west-2"));
        assert_eq!(work.keys.as_ref().unwrap().session_token, Some(Secret::new("t2")));
        assert_eq!(profiles.get("default").unwrap().region.as_deref(), Some("eu-west-1"));
        assert_eq!(profiles.get("sso").unwrap().keys, None);
        assert_eq!(profiles.get("other"), None);
    }
}
