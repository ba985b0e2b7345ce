//! Which value holds for each key: defaults, user file, project file, `.env`, environment, flags.
//!
//! Everything is read once, here, into the snapshot; what lost is kept with the reason. Defaults are
//! not copied in: they are looked up in `keys` when somebody asks.

mod slots;
mod sources;

use std::io::Read;
use std::path::Path;

use petasos_contract::settings::{Notice, Parts, Settings, Source};

use crate::error::{ConfigError, Problem};
use crate::home::{self, Places};
use crate::inputs::Inputs;
use crate::{dotenv, logins, reserved, strict, yaml};
pub(crate) use slots::Settled;
use slots::Slots;
use sources::Variables;

const MARK: &str = "\u{feff}";

/// A snapshot, and what would refuse the start.
#[derive(Debug)]
pub struct Reading {
    /// The snapshot.
    pub settings: Settings,
    /// Where it was read from.
    pub places: Places,
    /// Why it must not be used, when it must not.
    pub problems: Vec<Problem>,
}

/// Reads everything and refuses what must not be used.
pub fn load(inputs: &Inputs) -> Result<Settings, ConfigError> {
    let reading = read(inputs)?;
    if reading.problems.is_empty() {
        Ok(reading.settings)
    } else {
        Err(ConfigError::Refused { problems: reading.problems })
    }
}

/// Reads everything; for `config check` and for mending a configuration that is refused.
pub fn read(inputs: &Inputs) -> Result<Reading, ConfigError> {
    let places = home::places(inputs)?;
    check_home(&places)?;
    let dotenv =
        dotenv::read(&places.dotenv, |name| inputs.environment.get(name).map(String::as_str))?;
    let variables = Variables::new(inputs, &dotenv, &places.dotenv);
    let lookup = |name: &str| variables.get(name);
    let user = file(&places.config, &lookup)?;
    let project = match places.project.iter().find(|file| file.is_file()) {
        // Nothing is filled in there: a cloned file must not carry a variable of the user's, which
        // may be a key, into a value that leaves the machine.
        Some(file) if is_project(inputs, &places, file) => {
            Some((file, self::file(file, &|_| None)?))
        }
        _ => None,
    };

    let mut slots = Slots::default();
    let mut problems = Vec::new();
    let mut notices = variables.notices(inputs);
    notices.extend(dotenv.notices.iter().cloned());
    if let Some(profile) = places.profile.as_deref().filter(|_| !places.home.is_dir()) {
        notices.push(Notice {
            key: "profile".to_owned(),
            what: format!("profile `{profile}` has nothing at {}", places.home.display()),
            hint: "the built-in defaults are used".to_owned(),
        });
    }
    if let Some(user) = user {
        let source = Source::User { file: places.config.clone() };
        slots.user(user.leaves, &user.sections, &source);
        notices.extend(user.notices);
        problems.extend(user.problems);
    }
    if let Some(rows) = provider_rows(&places.providers, &lookup)? {
        notices.extend(rows.notices);
        problems.extend(rows.problems);
        let source = Source::User { file: places.providers.clone() };
        notices.extend(slots.own_file(rows.leaves, &source));
    }
    if let Some((file, Some(project))) = project {
        notices.extend(project.notices);
        problems.extend(project.problems);
        slots.project(project.leaves, file);
    }
    variables.fold(&mut slots, &mut notices, &mut problems);
    sources::flags(&inputs.overrides, &mut slots, &mut problems);

    let settled = slots.settle(&mut notices);
    reserved::check(&settled, &mut notices);
    let Settled { values, sources, limits } = settled;
    let settings = Settings::new(Parts {
        home: places.home.clone(),
        user_home: inputs.user_home.clone().unwrap_or_default(),
        workspace: inputs.cwd.clone(),
        temp: variables.temp(),
        values,
        sources,
        limits,
        variables: variables.into_map(),
        secrets: logins::secrets(&places.home),
        notices,
    });
    Ok(Reading { settings, places, problems })
}

/// The bytes of a regular file of bearable size; `None` when there is none.
pub(crate) fn file_bytes(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, ConfigError> {
    use std::io::ErrorKind;
    let unusable =
        |problem: String| Err(ConfigError::Unusable { file: path.to_path_buf(), problem });
    // Asked first, because opening a pipe would wait for a writer.
    let size = match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ConfigError::io("read", path, error)),
        Ok(found) if found.is_dir() => {
            return unusable("is a directory; move it away".to_owned());
        }
        Ok(found) if !found.is_file() => {
            return unusable("is not a regular file; replace it by one".to_owned());
        }
        Ok(found) => found.len(),
    };
    let too_large = |size: u64| {
        format!("has {size} bytes, more than the {bytes_max} it may have; make it smaller")
    };
    if size > bytes_max {
        return unusable(too_large(size));
    }
    let failed = |error| ConfigError::io("read", path, error);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return unusable(too_large(bytes.len() as u64));
    }
    Ok(Some(bytes))
}

/// The byte order mark of a YAML file, if it has one, and the text after it.
pub(crate) fn file_text(path: &Path) -> Result<Option<(&'static str, String)>, ConfigError> {
    let Some(bytes) = file_bytes(path, yaml::BYTES_MAX)? else { return Ok(None) };
    let mut text = String::from_utf8(bytes).map_err(|error| ConfigError::Unusable {
        file: path.to_path_buf(),
        problem: format!(
            "is not UTF-8 text (byte {}); save it as UTF-8",
            error.utf8_error().valid_up_to()
        ),
    })?;
    if text.starts_with(MARK) {
        text.drain(..MARK.len());
        return Ok(Some((MARK, text)));
    }
    Ok(Some(("", text)))
}

/// Text as a document, or an error that shows the place.
pub(crate) fn document(text: &str, path: &Path) -> Result<yaml::Document, ConfigError> {
    yaml::parse(text).map_err(|fault| ConfigError::Syntax {
        file: path.to_path_buf(),
        at: fault.at,
        snippet: yaml::snippet(text, fault.at),
        problem: fault.problem,
    })
}

fn file<'a>(
    path: &'a Path,
    lookup: &'a dyn Fn(&str) -> Option<&'a str>,
) -> Result<Option<strict::Checked>, ConfigError> {
    let Some((_, text)) = file_text(path)? else { return Ok(None) };
    Ok(Some(strict::check(&document(&text, path)?, path, lookup)))
}

/// The user's own rows of the provider table.
fn provider_rows<'a>(
    path: &'a Path,
    lookup: &'a dyn Fn(&str) -> Option<&'a str>,
) -> Result<Option<strict::Checked>, ConfigError> {
    let Some((_, text)) = file_text(path)? else { return Ok(None) };
    Ok(Some(strict::check_rows(&document(&text, path)?, path, lookup)))
}

/// The user's own home is no project, and no project's file is the user's own.
fn is_project(inputs: &Inputs, places: &Places, file: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let own = inputs.user_home.as_deref().map(real);
    own.as_deref() != Some(real(&inputs.cwd).as_path()) && real(file) != real(&places.config)
}

fn check_home(places: &Places) -> Result<(), ConfigError> {
    match std::fs::metadata(&places.home) {
        Ok(found) if !found.is_dir() => Err(ConfigError::Unusable {
            file: places.home.clone(),
            problem: format!(
                "is a file, and the agent home must be a directory (chosen by {})",
                places.home_from
            ),
        }),
        // Not there yet is fine, and anything else shows when its files are read.
        _ => Ok(()),
    }
}
