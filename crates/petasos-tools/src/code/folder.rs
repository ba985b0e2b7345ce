//! The folder of one run: the script, its module and, on this machine, its socket. Gone with it.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use petasos_contract::environment::{EnvError, Environment, WriteMode};
use petasos_contract::path::TargetPath;

/// A socket's path may have no more than 107 bytes.
const SOCKET_BYTES_MAX: usize = 100;

/// Names in the folder.
pub(super) const SCRIPT: &str = "script.py";
const MODULES: [&str; 2] = ["petasos_tools.py", "hermes_tools.py"];
const ALIAS: &str = "from petasos_tools import *\nfrom petasos_tools import ToolRefused, _call\n";

/// Random letters for a name or a token.
pub(super) fn random(bytes: usize) -> io::Result<String> {
    let mut random = vec![0_u8; bytes];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    Ok(random.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
}

/// A folder on this machine that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Own(PathBuf);

impl Own {
    /// Makes the folder, for this user alone.
    pub(super) fn new(temp: &Path) -> io::Result<Self> {
        let name = format!("petasos-code-{}", random(8)?);
        let is_short = temp.as_os_str().len() + name.len() + 8 < SOCKET_BYTES_MAX;
        let temp = if is_short && temp.is_dir() { temp } else { Path::new("/tmp") };
        let path = temp.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path.canonicalize()?))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Where its socket is.
    pub(super) fn socket(&self) -> PathBuf {
        self.0.join("calls")
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // What cannot be removed lies in the temp folder and holds no secret that still counts.
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

/// Puts the script and its module into a folder of a place.
pub(super) async fn fill(
    environment: &dyn Environment,
    folder: &TargetPath,
    script: &str,
    module: &str,
) -> Result<(), EnvError> {
    let [name, alias] = MODULES;
    for (name, text) in [(SCRIPT, script), (name, module), (alias, ALIAS)] {
        let path = folder.join(name);
        environment.files().write(&path, text.as_bytes(), WriteMode::Replace).await?;
    }
    Ok(())
}
