//! The target's side, over any way into it: small scripts of `sh` and what every image has.

use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::environment::EnvError;
use petasos_contract::path::TargetPath;

use super::archive;
use super::host::Outgoing;
use super::plan::{Hash, Manifest};
use super::rel::Rel;
use crate::remote::{Carrier, Order, capture};

/// How long the target may be silent.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where the files are over there, below its home.
pub(crate) const ROOT: &str = ".hermes";

/// What sync needs of a target.
pub(super) trait Far: Send + Sync {
    /// Every file that it has.
    fn manifest(&self) -> BoxFuture<'_, Result<Manifest, EnvError>>;

    /// Replaces these files, each in one step.
    fn put(&self, files: Vec<Outgoing>) -> BoxFuture<'_, Result<(), EnvError>>;

    /// Removes these files where they still are what we brought.
    fn delete<'a>(&'a self, files: &'a [(Rel, Hash)]) -> BoxFuture<'a, Result<(), EnvError>>;

    /// One file, up to so many bytes.
    fn get<'a>(&'a self, file: &'a Rel, bytes_max: u64)
    -> BoxFuture<'a, Result<Vec<u8>, EnvError>>;
}

/// A target behind a carrier.
pub(super) struct CarrierFar<'a> {
    carrier: &'a dyn Carrier,
}

impl<'a> CarrierFar<'a> {
    /// Over this way.
    pub(super) fn new(carrier: &'a dyn Carrier) -> Self {
        Self { carrier }
    }

    async fn run(&self, order: Order, what: &str) -> Result<Vec<u8>, EnvError> {
        let said = capture(self.carrier, order, PATIENCE).await?;
        if said.code == 0 {
            return Ok(said.output);
        }
        let why = format!("{what} ended with {}: {}", said.code, said.errors);
        Err(EnvError::File { path: TargetPath::new(format!("~/{ROOT}")), why, missing: false })
    }
}

/// Links are not followed and not listed: only files that are files.
const LIST: &str = r#"cd "$HOME/$1" 2>/dev/null || exit 0
command -v sha256sum >/dev/null || { echo "sha256sum is missing" >&2; exit 1; }
find . -type f -exec sha256sum {} +"#;

/// Unpacks beside the files and goes into place by renaming. A link on the way is refused, so that
/// nothing outside is written.
const PUT: &str = r#"command -v tar >/dev/null || { echo "tar is missing" >&2; exit 1; }
cd "$HOME" && umask 077 && mkdir -p "$1" && cd "$1" || exit 1
stage=".petasos-stage-$$"
trap 'rm -rf "$HOME/$1/$stage"' EXIT
mkdir "$stage" && tar -xf - -C "$stage" || exit 1
(cd "$stage" && find . -type f) | while IFS= read -r name; do
  part=.
  rest=${name#./}
  while [ "$rest" ]; do
    head=${rest%%/*}
    case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
    part=$part/$head
    [ -L "$part" ] && { echo "$name: a link is in the way" >&2; exit 1; }
  done
  mkdir -p "${name%/*}" && mv -f "$stage/$name" "$name" || exit 1
done"#;

const DELETE: &str = r#"cd "$HOME/$1" 2>/dev/null || exit 0
while IFS= read -r sum && IFS= read -r name; do
  [ -f "./$name" ] && [ ! -L "./$name" ] || continue
  now=$(sha256sum < "./$name") || exit 1
  [ "${now%% *}" = "$sum" ] && { rm -f "./$name" || exit 1; }
done
exit 0"#;

const GET: &str = r#"cd "$HOME/$1" && [ -f "./$2" ] && [ ! -L "./$2" ] && head -c "$3" "./$2""#;

impl Far for CarrierFar<'_> {
    fn manifest(&self) -> BoxFuture<'_, Result<Manifest, EnvError>> {
        Box::pin(async move {
            let said = self.run(Order::script(LIST, &[ROOT]), "listing files").await?;
            let text = String::from_utf8_lossy(&said);
            Ok(text.lines().filter_map(listed).collect())
        })
    }

    fn put(&self, files: Vec<Outgoing>) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            let mut order = Order::script(PUT, &[ROOT]);
            order.stdin = archive::of(&files);
            self.run(order, "writing files").await.map(drop)
        })
    }

    fn delete<'a>(&'a self, files: &'a [(Rel, Hash)]) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            let mut order = Order::script(DELETE, &[ROOT]);
            for (rel, hash) in files {
                order.stdin.extend_from_slice(format!("{hash}\n{rel}\n").as_bytes());
            }
            self.run(order, "removing files").await.map(drop)
        })
    }

    fn get<'a>(
        &'a self,
        file: &'a Rel,
        bytes_max: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        Box::pin(async move {
            let limit = bytes_max.to_string();
            self.run(Order::script(GET, &[ROOT, file.as_str(), &limit]), "fetching a file").await
        })
    }
}

/// One line of `sha256sum`; names that it had to escape are no names of ours.
fn listed(line: &str) -> Option<(Rel, Hash)> {
    let (hash, name) = line.split_once("  ")?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let rel = Rel::new(name.strip_prefix("./")?)?;
    let is_draft = rel.as_str().starts_with(".petasos-");
    (is_hash && !is_draft).then(|| (rel, hash.to_owned()))
}
