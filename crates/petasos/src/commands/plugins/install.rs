//! Putting a plugin into the home: from a folder, or from a git address. It does not run before
//! it is enabled.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use petasos_contract::processes::HelperSpec;
use petasos_contract::wait;
use petasos_plugins::manifest::{Manifest, Source};

use crate::command::Session;
use crate::host::Host;
use crate::report::Report;

/// How long a clone may take.
const CLONE_DEADLINE: Duration = Duration::from_mins(3);

#[derive(Debug, Args)]
pub(super) struct Install {
    /// A folder with `plugin.yaml`, or a git address
    from: String,
    /// Replace a plugin of the same name
    #[arg(long)]
    force: bool,
}

impl Install {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let plugins = host.settings().home().join("plugins");
        fs::create_dir_all(&plugins)?;
        let draft = tempfile::Builder::new().prefix(".install").tempdir_in(&plugins)?;
        let folder = draft.path().join("plugin");
        if Path::new(&self.from).is_dir() {
            copy(Path::new(&self.from), &folder)?;
        } else {
            clone(host, &self.from, &folder)?;
        }
        let manifest = Manifest::read(&folder, None, Source::User)
            .map_err(|error| Report::new(error.to_string()).code("manifest"))?
            .ok_or_else(|| Report::new("there is no `plugin.yaml`").code("manifest"))?;
        // A folder name of the draft is no name.
        let name = if manifest.name == "plugin" { self.own_name() } else { manifest.name };
        let target = plugins.join(&name);
        if target.exists() && !self.force {
            return Err(Report::new(format!("`{name}` is installed already"))
                .code("exists")
                .hint("`--force` replaces it"));
        }
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        fs::rename(&folder, &target)?;
        out.line(format!("{name} is in {}", target.display()));
        out.remark(format!("`petasos plugins enable {name}` lets it run"));
        Ok(ExitCode::SUCCESS)
    }

    fn own_name(&self) -> String {
        let last = self.from.trim_end_matches('/').rsplit('/').next().unwrap_or("plugin");
        last.trim_end_matches(".git").to_owned()
    }
}

/// Copies files and folders; links are left behind, for they may lead anywhere.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut waiting: Vec<(PathBuf, PathBuf)> = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = waiting.pop() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, name) = (entry.file_type()?, entry.file_name());
            if name == ".git" || name == "__pycache__" {
                continue;
            }
            if kind.is_dir() {
                waiting.push((entry.path(), to.join(name)));
            } else if kind.is_file() {
                fs::copy(entry.path(), to.join(name))?;
            }
        }
    }
    Ok(())
}

fn clone(host: &Host, address: &str, to: &Path) -> Result<(), Report> {
    if address.starts_with('-') {
        return Err(Report::usage(format!("`{address}` is neither a folder nor an address")));
    }
    let to = to.display().to_string();
    let argv = ["git", "clone", "--depth", "1", "--", address, &to].map(str::to_owned);
    let spec = HelperSpec::new("git clone", argv.into(), host.settings());
    let processes = host.ports().processes.clone();
    let processes = processes.ok_or_else(|| Report::new("this program starts no programs"))?;
    let ended = host.wait(async {
        let helper = processes.start(spec).await.map_err(|error| error.to_string())?;
        let deadline = Instant::now() + CLONE_DEADLINE;
        let ended = wait::until(deadline, "git clone", helper.hand.exited()).await;
        let ended = ended.map_err(|error| error.to_string())?;
        ended.map_err(|error| error.to_string())
    })?;
    match ended {
        Ok(ending) if ending.code() == 0 => Ok(()),
        Ok(ending) => Err(Report::new(format!("git ended with code {}", ending.code()))),
        Err(why) => Err(Report::new(why)),
    }
}
