//! The container of one place: found or started behind the gate, stopped by its last user.
//!
//! With persistent files its name is the same each time, so programs side by side share one
//! container and one overlay. What a crash left is stopped by the next program that opens one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use petasos_contract::environment::EnvError;

use super::argv::Beginning;
use super::engine::{Engine, Known};
use super::lease::Lease;
use super::trouble;
use super::wish::{Image, Wish};
use crate::ids;

const PREFIX: &str = "petasos-";
/// Names of containers whose files nobody wants after them.
const THROW_AWAY: &str = "petasos-t-";

/// A container in use by this program.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) engine: Engine,
    pub(super) name: String,
    wish: Wish,
    lease: Lease,
    /// The first process of the container we know.
    known: Mutex<Option<Known>>,
    /// What could not be had, in words.
    missing: Mutex<Vec<String>>,
}

impl Instance {
    /// Finds or starts the container that is wished for.
    pub(super) async fn open(engine: Engine, wish: Wish) -> Result<Self, EnvError> {
        let name = name(&wish);
        let lease = Lease::of(wish.folder.join(&name))
            .map_err(|error| no(&format!("`{}` cannot be used: {error}", wish.folder.display())))?;
        let (known, missing) = (Mutex::new(None), Mutex::new(Vec::new()));
        let instance = Self { engine, name, wish, lease, known, missing };
        instance.clear_orphans().await;
        instance.ensure().await?;
        Ok(instance)
    }

    /// Whether its first process lives, as far as we know.
    pub(super) fn lives(&self) -> bool {
        self.known.lock().as_ref().is_some_and(Known::lives)
    }

    /// Its first process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.known.lock().as_ref().map(|known| known.pid)
    }

    /// What could not be had.
    pub(super) fn missing(&self) -> Vec<String> {
        self.missing.lock().clone()
    }

    /// What it is, for people.
    pub(super) fn detail(&self) -> String {
        let files = if self.wish.persistent { "files are kept" } else { "files are thrown away" };
        let binds = self.wish.binds.iter().map(|bind| {
            let mode = if bind.writable { "writable" } else { "read-only" };
            format!("{} at {} ({mode})", bind.from.display(), bind.to)
        });
        let mut parts = vec![self.engine.program.display().to_string(), files.to_owned()];
        parts.extend(binds);
        parts.join("; ")
    }

    /// Makes sure that it runs.
    pub(super) async fn ensure(&self) -> Result<(), EnvError> {
        if self.lives() {
            return Ok(());
        }
        let _gate = self.lease.gate().await.map_err(|error| no(&error.to_string()))?;
        self.lease.take().map_err(|error| no(&format!("its lock: {error}")))?;
        if let Some(found) = self.find().await? {
            if found.lives() {
                *self.known.lock() = Some(found);
                return Ok(());
            }
            // Its process is gone and only the record is left.
            if let Err(error) = self.engine.stop(&found).await {
                tracing::debug!(%error, "a dead container's record could not be removed");
            }
        }
        self.start().await?;
        let known = self.find().await?;
        let started = known.as_ref().is_some_and(Known::lives);
        *self.known.lock() = known;
        if started { Ok(()) } else { Err(no("the container ended as soon as it was started")) }
    }

    /// Lets go of it; the last one stops it.
    pub(super) async fn close(&self) -> Result<(), EnvError> {
        let _gate = self.lease.gate().await.map_err(|error| no(&error.to_string()))?;
        let known = self.known.lock().take();
        if !self.lease.alone() {
            self.lease.release();
            return Ok(());
        }
        let stopped = match &known {
            Some(known) => self.engine.stop(known).await,
            None => Ok(()),
        };
        if self.wish.persistent {
            self.lease.release();
        } else {
            self.lease.remove();
        }
        let target = format!("singularity:{}", self.name);
        stopped.map_err(|why| EnvError::Lost { target, why })
    }

    async fn find(&self) -> Result<Option<Known>, EnvError> {
        let listed = self.engine.list().await.map_err(|why| no(&why))?;
        Ok(listed.into_iter().find(|known| known.name == self.name))
    }

    async fn start(&self) -> Result<(), EnvError> {
        let (image, shown) = self.image().await?;
        let overlay = self.wish.persistent.then(|| self.lease.folder().join("overlay"));
        if let Some(overlay) = &overlay {
            std::fs::create_dir_all(overlay)
                .map_err(|error| no(&format!("`{}`: {error}", overlay.display())))?;
        }
        let mut beginning = Beginning {
            image: &image,
            name: &self.name,
            overlay: overlay.as_deref(),
            binds: &self.wish.binds,
            limits: Some(self.wish.limits),
        };
        let mut said = match self.engine.start(&beginning).await {
            Ok(()) => return Ok(()),
            Err(said) => said,
        };
        if trouble::is_about_limits(&said) {
            beginning.limits = None;
            let notice = "limits of CPU, memory and processes cannot be had here (no cgroups for \
                          this user)";
            match self.engine.start(&beginning).await {
                Ok(()) => {
                    tracing::warn!("{notice}");
                    self.missing.lock().push(notice.to_owned());
                    return Ok(());
                }
                Err(again) => said = again,
            }
        }
        Err(no(&trouble::explain(&said, &shown)))
    }

    /// The image as a path, built first when it is an address; and its name for people.
    async fn image(&self) -> Result<(PathBuf, String), EnvError> {
        let address = match &self.wish.image {
            Image::Here(path) if path.exists() => {
                return Ok((path.clone(), path.display().to_string()));
            }
            Image::Here(path) => {
                let why = format!(
                    "there is no image `{}`: check `terminal.singularity_image`",
                    path.display()
                );
                return Err(no(&why));
            }
            Image::Address(address) => address,
        };
        let images = self.wish.folder.join("images");
        let file = images.join(format!("{:016x}.sif", hashed(address)));
        if file.is_file() {
            return Ok((file, address.clone()));
        }
        std::fs::create_dir_all(&images)
            .map_err(|error| no(&format!("`{}`: {error}", images.display())))?;
        let partial = images.join(format!("{}.partial", ids::hex(8)));
        let built = self.engine.build(&partial, address).await;
        let built = built
            .and_then(|()| std::fs::rename(&partial, &file).map_err(|error| error.to_string()));
        if let Err(said) = built {
            remove_if_there(&partial);
            // The program can also start an address, without a file to start from next time.
            tracing::warn!(%said, image = %address, "the image was not built; it is started as it is");
            return Ok((PathBuf::from(address), address.clone()));
        }
        Ok((file, address.clone()))
    }

    /// Stops containers of ours that no program uses any more.
    async fn clear_orphans(&self) {
        let listed = match self.engine.list().await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "containers left by earlier programs cannot be looked for");
                return;
            }
        };
        let folders = std::fs::read_dir(&self.wish.folder).into_iter().flatten().flatten();
        let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
        for name in names.filter(|name| name.starts_with(PREFIX) && *name != self.name) {
            let Ok(lease) = Lease::of(self.wish.folder.join(&name)) else { continue };
            if !lease.alone() {
                continue;
            }
            if let Some(known) = listed.iter().find(|known| known.name == name)
                && let Err(error) = self.engine.stop(known).await
            {
                tracing::warn!(%error, container = %name, "a left container cannot be stopped");
                continue;
            }
            if name.starts_with(THROW_AWAY) {
                lease.remove();
            }
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Only when nobody closed it: a program that ends must leave no container behind.
        let Some(known) = self.known.get_mut().take() else { return };
        if !self.lease.alone() {
            return;
        }
        self.engine.stop_now(&known);
        if !self.wish.persistent {
            self.lease.remove();
        }
    }
}

/// The name of the container: the same for the same wish when files are to last.
fn name(wish: &Wish) -> String {
    if !wish.persistent {
        return format!("{THROW_AWAY}{}", ids::hex(6));
    }
    let wanted = format!("{wish:?}");
    format!("{PREFIX}{:016x}", hashed(&wanted))
}

fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn remove_if_there(path: &Path) {
    if path.exists()
        && let Err(error) = std::fs::remove_file(path)
    {
        tracing::warn!(%error, file = %path.display(), "a half built image stays behind");
    }
}

/// Nothing has run, and why.
pub(super) fn no(why: &str) -> EnvError {
    EnvError::NotStarted { what: "the container".to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use petasos_contract::Settings;
    use serde_json::json;

    #[test]
    fn only_lasting_files_have_a_lasting_name() {
        let wish = |persistent: bool, cpus: u32| {
            let terminal = json!({ "container_persistent": persistent, "container_cpu": cpus });
            let values = json!({ "terminal": terminal }).as_object().cloned().unwrap();
            Wish::of(&Settings::from_values(values)).unwrap()
        };
        assert_eq!(name(&wish(true, 1)), name(&wish(true, 1)));
        assert_ne!(name(&wish(true, 1)), name(&wish(true, 2)));
        assert_ne!(name(&wish(false, 1)), name(&wish(false, 1)));
        assert!(name(&wish(false, 1)).starts_with(THROW_AWAY));
    }
}
