//! What the settings want of the container: image, files, limits, folders of the host.
//!
//! Reads and checks; starts nothing.

use std::path::{Path, PathBuf};

use petasos_contract::Settings;
use petasos_contract::settings::Section;
use serde::Deserialize;

const IMAGE: &str = "docker://nikolaik/python-nodejs:python3.11-nodejs20";
/// Processes of one container; a fork bomb must not be the host's.
pub(super) const PIDS_MAX: u32 = 256;

/// The section as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
struct Written {
    singularity_image: String,
    singularity_binds: Vec<String>,
    container_cpu: f64,
    container_memory: u64,
    container_persistent: bool,
    sandbox_dir: Option<String>,
    scratch_dir: Option<String>,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            singularity_image: IMAGE.to_owned(),
            singularity_binds: Vec::new(),
            container_cpu: 1.0,
            container_memory: 5120,
            container_persistent: true,
            sandbox_dir: None,
            scratch_dir: None,
        }
    }
}

impl Section for Written {
    const NAME: &'static str = "terminal";
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    pub(super) image: Image,
    pub(super) binds: Vec<Bind>,
    pub(super) limits: Limits,
    /// Whether files outlive the container.
    pub(super) persistent: bool,
    /// Which isolation it is for.
    pub(super) task: String,
    /// Where overlays, built images and locks are.
    pub(super) folder: PathBuf,
}

/// Where the container's files come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Image {
    /// A file or an unpacked folder of this machine.
    Here(PathBuf),
    /// An address, built once into a file.
    Address(String),
}

/// A folder of the host in the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) from: PathBuf,
    pub(super) to: String,
    pub(super) writable: bool,
}

/// What it may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    /// Zero means no limit, here and below.
    pub(super) cpus: f64,
    pub(super) memory_mb: u64,
}

impl Wish {
    /// What the settings want, or what is wrong with them.
    pub(super) fn of(settings: &Settings) -> Result<Self, String> {
        let written: Written = settings.section().map_err(|error| error.to_string())?;
        let home = settings.user_home();
        let binds = written.singularity_binds.iter().map(|bind| Bind::of(bind, home));
        let limits = Limits { cpus: written.container_cpu, memory_mb: written.container_memory };
        if !limits.cpus.is_finite() || limits.cpus < 0.0 {
            return Err("`terminal.container_cpu` must be a number of CPUs".to_owned());
        }
        Ok(Self {
            image: Image::of(&written.singularity_image, home)?,
            binds: binds.collect::<Result<_, _>>()?,
            limits,
            persistent: written.container_persistent,
            task: String::new(),
            folder: folder(settings, written.scratch_dir, written.sandbox_dir),
        })
    }
}

impl Image {
    fn of(text: &str, home: &Path) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('-') {
            return Err("`terminal.singularity_image` names no image".to_owned());
        }
        match text.split_once("://") {
            Some((_, "")) => {
                Err(format!("`terminal.singularity_image` is `{text}`: name an image"))
            }
            Some(_) => Ok(Self::Address(text.to_owned())),
            None => Ok(Self::Here(expanded(text, home))),
        }
    }
}

impl Bind {
    fn of(text: &str, home: &Path) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("`terminal.singularity_binds` has `{text}`: {why}"));
        let parts: Vec<&str> = text.split(':').collect();
        let (from, to, mode) = match *parts.as_slice() {
            [from] => (from, from, "rw"),
            [from, to] => (from, to, "rw"),
            [from, to, mode] => (from, to, mode),
            _ => return wrong("write `host:target` or `host:target:ro`"),
        };
        let writable = match mode {
            "rw" => true,
            "ro" => false,
            _ => return wrong("the last word is `ro` or `rw`"),
        };
        // A comma would begin another mount that nobody sees.
        if text.contains(',') || text.chars().any(char::is_control) {
            return wrong("a path may not contain a comma");
        }
        let from = expanded(from, home);
        if !from.is_absolute() || !to.starts_with('/') {
            return wrong("both paths must be absolute");
        }
        if !from.exists() {
            return wrong("the host has no such path");
        }
        Ok(Self { from, to: to.to_owned(), writable })
    }
}

/// Where big files go: the scratch folder that was named, else beside other environments.
fn folder(settings: &Settings, scratch: Option<String>, sandboxes: Option<String>) -> PathBuf {
    let named = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let home = settings.user_home();
    if let Some(scratch) = named(scratch) {
        return expanded(&scratch, home).join("petasos-singularity");
    }
    let user = settings.variable("USER").map(|user| user.value.expose().to_owned());
    let shared = user.filter(|user| !user.is_empty() && !user.contains('/'));
    let shared = shared.map(|user| Path::new("/scratch").join(user));
    if let Some(shared) = shared.filter(|path| is_writable(path)) {
        return shared.join("petasos-singularity");
    }
    let sandboxes = named(sandboxes).map(|path| expanded(&path, home));
    sandboxes.unwrap_or_else(|| settings.home().join("sandboxes")).join("singularity")
}

fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

fn expanded(text: &str, home: &Path) -> PathBuf {
    text.strip_prefix("~/").map_or_else(|| PathBuf::from(text), |below| home.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(terminal: &Value) -> Result<Wish, String> {
        let values = json!({ "terminal": terminal }).as_object().cloned().unwrap();
        Wish::of(&Settings::from_values(values))
    }

    #[test]
    fn the_usual_wish_is_the_one_of_the_specification() {
        let wish = of(&json!({})).unwrap();
        assert_eq!(wish.image, Image::Address(IMAGE.to_owned()));
        assert_eq!(wish.limits, Limits { cpus: 1.0, memory_mb: 5120 });
        assert!(wish.persistent && wish.binds.is_empty());
    }

    #[test]
    fn binds_and_images_are_read_as_written() {
        let terminal = json!({
            "singularity_image": "/images/a.sif",
            "singularity_binds": ["/tmp:/data:ro", "/usr"],
            "scratch_dir": "/big",
        });
        let wish = of(&terminal).unwrap();
        assert_eq!(wish.image, Image::Here("/images/a.sif".into()));
        let bind =
            |from: &str, to: &str, writable| Bind { from: from.into(), to: to.into(), writable };
        assert_eq!(wish.binds, [bind("/tmp", "/data", false), bind("/usr", "/usr", true)]);
        assert_eq!(wish.folder, Path::new("/big/petasos-singularity"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        let rows = [
            (json!({ "singularity_image": " " }), "singularity_image"),
            (json!({ "singularity_image": "--fakeroot" }), "singularity_image"),
            (json!({ "singularity_image": "docker://" }), "singularity_image"),
            (json!({ "singularity_binds": ["/tmp:/a:rx"] }), "singularity_binds"),
            (json!({ "singularity_binds": ["/tmp:/a:ro,/etc:/b"] }), "singularity_binds"),
            (json!({ "singularity_binds": ["tmp:/a"] }), "singularity_binds"),
            (json!({ "singularity_binds": ["/tmp:a"] }), "singularity_binds"),
            (json!({ "singularity_binds": ["/nonexistent:/a"] }), "singularity_binds"),
            (json!({ "container_cpu": -1 }), "container_cpu"),
        ];
        for (terminal, key) in rows {
            let why = of(&terminal).unwrap_err();
            assert!(why.contains(&format!("`terminal.{key}`")), "{terminal}: {why}");
        }
    }
}
