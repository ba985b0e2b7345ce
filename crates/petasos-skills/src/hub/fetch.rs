//! Bringing a package here: by git, over the web, from this machine. It stays in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::processes::{HelperSpec, Processes};
use petasos_contract::{Settings, wait};
use petasos_net::client::{Net, NetOptions};
use petasos_net::proxy::Proxies;
use petasos_net::{FilterProxy, Method, NetError, Reach, Request, SiteRules, checked_url};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::search::mains_of;
use super::source::Source;
use super::tree::{self, Tree};
use crate::digest::files_of;
use crate::error::SkillError;
use crate::format::MAIN_FILE;
use crate::lock;

const GIT_DEADLINE: Duration = Duration::from_mins(3);
const WEB_DEADLINE: Duration = Duration::from_mins(1);
const DOWNLOAD_MAX: usize = 32 << 20;
const TAR_MAX: u64 = 64 << 20;

/// A skill that was brought here and not yet looked at.
#[derive(Debug, Clone)]
pub struct Package {
    /// The name of the folder that it was in.
    pub folder: String,
    /// Its files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The commit.
    pub revision: Option<String>,
}

/// Brings packages here.
pub struct Fetcher {
    settings: Arc<Settings>,
    processes: Option<Arc<dyn Processes>>,
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher").finish_non_exhaustive()
    }
}

impl Fetcher {
    /// With these settings; git needs somebody who starts programs.
    pub fn new(settings: &Arc<Settings>, processes: Option<Arc<dyn Processes>>) -> Self {
        Self { settings: Arc::clone(settings), processes }
    }

    /// Brings one skill here.
    pub async fn fetch(&self, source: &Source) -> Result<Package, SkillError> {
        match source {
            Source::Folder(folder) => from_folder(folder),
            Source::Archive(file) => {
                let bytes = read_within(file, DOWNLOAD_MAX)?;
                packed(tree::of_archive(&bytes)?, None, stem(&file.to_string_lossy()))
            }
            Source::RemoteArchive(url) => {
                let bytes = self.download(url).await?;
                packed(tree::of_archive(&bytes)?, None, stem(url))
            }
            Source::Page(url) => {
                let bytes = self.download(url).await?;
                let folder = url.rsplit('/').nth(1).unwrap_or_default().to_owned();
                let files = BTreeMap::from([(MAIN_FILE.to_owned(), bytes)]);
                tree::within_limits(&files)?;
                Ok(Package { folder, files, revision: None })
            }
            Source::Git { url, path, reference } => {
                let (tree, revision) = self.git(url, reference.as_deref()).await?;
                let mut package = packed(tree, path.as_deref(), stem(url))?;
                package.revision = Some(revision);
                Ok(package)
            }
            Source::WellKnown { base, name: Some(name) } => self.published(base, name).await,
            Source::WellKnown { base, name: None } => {
                let said =
                    format!("say which skill: `petasos skills search --in {base}` lists them");
                Err(SkillError::new("ambiguous", said))
            }
            Source::Official(name) => crate::starter::package(name)
                .map(|files| Package { folder: name.clone(), files, revision: None })
                .ok_or_else(|| SkillError::missing(format!("no skill `{name}` comes with it"))),
        }
    }

    async fn download(&self, url: &str) -> Result<Vec<u8>, SkillError> {
        let told = |error: &dyn std::fmt::Display| format!("`{url}` was not fetched: {error}");
        let refused = |error: NetError| SkillError::new(error.error_type(), told(&error));
        let address = checked_url(url)
            .map_err(|error| SkillError::new("blocked_address", error.to_string()))?;
        let net = Net::new(NetOptions::from_settings(&self.settings));
        let mut request = Request::new(Method::GET, address);
        request.reach = Reach::PublicOnly;
        let reply = net.send(request).await.map_err(refused)?;
        if reply.status != 200 {
            let status = reply.status;
            let kind = if status == 404 { "not_found" } else { "upstream" };
            return Err(
                SkillError::new(kind, told(&format!("status {status}"))).with("status", status)
            );
        }
        let bytes = reply.bytes(DOWNLOAD_MAX, WEB_DEADLINE).await;
        Ok(bytes.map_err(refused)?.to_vec())
    }

    /// A commit is fetched into an empty repository and read as an archive: nothing is checked
    /// out, so that neither hooks nor filters nor links of the repository come to life. Its
    /// connections go through a proxy of ours that holds the address rules.
    async fn git(&self, url: &str, reference: Option<&str>) -> Result<(Tree, String), SkillError> {
        let quarantine = lock::folder(&self.settings).join("quarantine");
        let failed = |error: std::io::Error| SkillError::disk("written", &quarantine, &error);
        std::fs::create_dir_all(&quarantine).map_err(failed)?;
        let place =
            tempfile::Builder::new().prefix("git-").tempdir_in(&quarantine).map_err(failed)?;
        let rules = SiteRules::from_settings(&self.settings);
        let proxies = Proxies::from_settings(&self.settings);
        let proxy = FilterProxy::start(rules, proxies, TAR_MAX).await.map_err(failed)?;
        proxy.open();
        let git = Git { fetcher: self, place: place.path(), proxy: proxy.address().to_string() };
        git.run(&["init", "-q", "--bare", "."]).await?;
        let fetch = ["fetch", "-q", "--depth", "1", "--no-tags", "--no-recurse-submodules", "--"];
        let fetched = git.run(&[&fetch[..], &[url, reference.unwrap_or("HEAD")]].concat()).await;
        fetched.map_err(|error| match proxy.refused().first() {
            Some(refused) => SkillError::new("blocked_address", refused.why.clone()),
            None => error,
        })?;
        let revision = git.run(&["rev-parse", "--verify", "FETCH_HEAD^{commit}"]).await?;
        let revision = String::from_utf8_lossy(&revision).trim().to_owned();
        if let Some(pinned) = reference.filter(|it| is_commit(it) && *it != revision) {
            let said = format!("commit {pinned} was asked for, and {revision} came");
            return Err(SkillError::denied(said));
        }
        let archive = git.run(&["archive", "--format=tar", &revision]).await?;
        let mut tree = tree::of_tar(&archive)?;
        // An archive has an empty folder for the repository of somebody else.
        let listed = git.run(&["ls-tree", "-r", "-z", "--full-tree", &revision]).await?;
        for path in submodules(&listed) {
            tree.odd.insert(path, "a repository of its own");
        }
        Ok((tree, revision))
    }

    /// What this one works with.
    pub(super) fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The main texts of all skills of a source, by their folder.
    pub(super) async fn mains(&self, source: &Source) -> Result<Vec<(String, String)>, SkillError> {
        match source {
            Source::Git { url, path, reference } => {
                let (tree, _) = self.git(url, reference.as_deref()).await?;
                Ok(mains_of(&tree.files, path.as_deref()))
            }
            Source::RemoteArchive(url) => {
                let tree = tree::of_archive(&self.download(url).await?)?;
                Ok(mains_of(&tree.files, None))
            }
            Source::Archive(file) => {
                let tree = tree::of_archive(&read_within(file, DOWNLOAD_MAX)?)?;
                Ok(mains_of(&tree.files, None))
            }
            Source::WellKnown { base, name: None } => {
                let index = self.well_known(base).await?;
                let line = |row: &Value| {
                    let name = row.get("name")?.as_str()?;
                    let about = row.get("description").and_then(Value::as_str).unwrap_or_default();
                    let about = json!(about);
                    let text = format!("---\nname: {name}\ndescription: {about}\n---\n");
                    Some((name.to_owned(), text))
                };
                Ok(index.iter().filter_map(line).collect())
            }
            other => {
                let package = self.fetch(other).await?;
                Ok(mains_of(&package.files, None))
            }
        }
    }

    /// The list that a host publishes of its skills.
    async fn well_known(&self, base: &str) -> Result<Vec<Value>, SkillError> {
        let bytes = self.download(&format!("{base}/index.json")).await?;
        let index: Value = serde_json::from_slice(&bytes)
            .map_err(|error| SkillError::new("upstream", format!("its list is broken: {error}")))?;
        Ok(index.get("skills").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// One skill of a host that publishes them: the files that its list names.
    async fn published(&self, base: &str, name: &str) -> Result<Package, SkillError> {
        let index = self.well_known(base).await?;
        let row = index.iter().find(|row| row.get("name").and_then(Value::as_str) == Some(name));
        let row = row.ok_or_else(|| SkillError::missing(format!("it has no skill `{name}`")))?;
        let names = row.get("files").and_then(Value::as_array).into_iter().flatten();
        let mut wanted: Vec<&str> = names.filter_map(Value::as_str).collect();
        if wanted.is_empty() {
            wanted.push(MAIN_FILE);
        }
        let mut files = BTreeMap::new();
        for file in wanted {
            let path = tree::plain_path(file)?;
            files.insert(path, self.download(&format!("{base}/{name}/{file}")).await?);
            tree::within_limits(&files)?;
        }
        Ok(Package { folder: name.to_owned(), files, revision: None })
    }
}

/// Whether it names a commit, and not a branch or a tag that may move.
fn is_commit(reference: &str) -> bool {
    matches!(reference.len(), 40 | 64) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The paths of a listing that lead to other repositories.
fn submodules(listed: &[u8]) -> Vec<String> {
    let listed = String::from_utf8_lossy(listed);
    let rows = listed.split('\0').filter_map(|row| row.split_once('\t'));
    rows.filter(|(about, _)| about.starts_with("160000 "))
        .map(|(_, path)| path.to_owned())
        .collect()
}

struct Git<'a> {
    fetcher: &'a Fetcher,
    place: &'a Path,
    proxy: String,
}

impl Git<'_> {
    async fn run(&self, words: &[&str]) -> Result<Vec<u8>, SkillError> {
        let processes = self.fetcher.processes.as_ref();
        let processes = processes
            .ok_or_else(|| SkillError::new("missing_setup", "needs a program that starts git"))?;
        let proxy = format!("http.proxy=http://{}", self.proxy);
        let fixed = [
            "git",
            "-c",
            &proxy,
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "protocol.ext.allow=never",
            "-c",
            "credential.helper=",
            "-c",
            "transfer.fsckObjects=true",
            "-c",
            "http.followRedirects=true",
        ];
        let argv = fixed.iter().chain(words).map(|word| (*word).to_owned()).collect();
        let mut spec = HelperSpec::new("git", argv, &self.fetcher.settings);
        spec.cwd = self.place.to_owned();
        let place = self.place.display().to_string();
        for (name, value) in [
            ("GIT_TERMINAL_PROMPT", "0"),
            // Nothing goes past the proxy, whatever the user excepts from theirs.
            ("NO_PROXY", ""),
            ("no_proxy", ""),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ALLOW_PROTOCOL", "http:https:file"),
            ("GIT_CEILING_DIRECTORIES", &place),
            ("HOME", &place),
        ] {
            spec.env.insert(name.to_owned(), value.to_owned());
        }
        let down = |error: &dyn std::fmt::Display| {
            SkillError::new("missing_setup", format!("needs git: {error}"))
        };
        let mut helper = processes.start(spec).await.map_err(|error| down(&error))?;
        drop(helper.stdin);
        let (mut said, mut complained) = (Vec::new(), Vec::new());
        let whole = async {
            let mut out = (&mut helper.stdout).take(TAR_MAX + 1);
            let mut err = (&mut helper.stderr).take(64 * 1024);
            let read =
                tokio::try_join!(out.read_to_end(&mut said), err.read_to_end(&mut complained));
            read.map_err(|error| error.to_string())?;
            helper.hand.exited().await.map_err(|error| error.to_string())
        };
        let ended = wait::until(Instant::now() + GIT_DEADLINE, "git", whole).await;
        let ended = ended.map_err(|_| SkillError::new("timeout", "git took too long"))?;
        let ended = ended.map_err(|error| SkillError::new("upstream", error))?;
        if said.len() as u64 > TAR_MAX {
            return Err(SkillError::new("too_large", "the repository is too large"));
        }
        if ended.code() != 0 {
            let why = String::from_utf8_lossy(&complained);
            let why: String = why.trim().chars().take(300).collect();
            return Err(SkillError::new("upstream", format!("git: {why}")));
        }
        Ok(said)
    }
}

fn from_folder(folder: &Path) -> Result<Package, SkillError> {
    let mut files = BTreeMap::new();
    for (name, path) in files_of(folder)? {
        // One byte more than a skill may have is enough to refuse it.
        let data = read_within(&path, tree::FILE_BYTES_MAX + 1)?;
        files.insert(tree::plain_path(&name)?, data);
        tree::within_limits(&files)?;
    }
    if !files.contains_key(MAIN_FILE) {
        return Err(SkillError::missing(format!("`{}` has no {MAIN_FILE}", folder.display())));
    }
    tree::within_limits(&files)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Package { folder: name, files, revision: None })
}

/// A file of this machine, however large it is by now.
fn read_within(path: &Path, most: usize) -> Result<Vec<u8>, SkillError> {
    let failed = |error: std::io::Error| SkillError::disk("read", path, &error);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    std::io::Read::read_to_end(&mut std::io::Read::take(file, most as u64 + 1), &mut bytes)
        .map_err(failed)?;
    if bytes.len() > most {
        let said = format!("`{}` has more than {most} bytes", path.display());
        return Err(SkillError::new("too_large", said));
    }
    Ok(bytes)
}

fn packed(tree: Tree, wanted: Option<&str>, fallback: String) -> Result<Package, SkillError> {
    let (folder, files) = tree.skill(wanted)?;
    let folder = if folder.is_empty() { fallback } else { folder };
    Ok(Package { folder, files, revision: None })
}

/// The last word of a place, without the ending of an archive or repository.
fn stem(place: &str) -> String {
    let last = place.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut last = last.to_owned();
    for ending in [".git", ".zip", ".skill", ".tgz", ".tar.gz", ".tar"] {
        if let Some(short) = last.strip_suffix(ending) {
            last = short.to_owned();
        }
    }
    last
}
