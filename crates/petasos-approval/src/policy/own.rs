//! Everything in the agent's home but a few folders: asked about every time.
//!
//! Whoever may change these may change every other decision.

use std::path::Path;

use super::paths;
use crate::permissions::{Access, Deed};
use petasos_analysis::Facts;

/// The key of the built-in rule, for what only the home itself tells.
pub(super) const KEY: &str = "write to agent settings";

/// The path among those written or removed that is one of these.
pub(super) fn written(deed: &Deed, facts: &Facts) -> Option<String> {
    let home = Path::new(facts.agent_home.as_deref()?);
    if deed.touched.iter().all(|touch| touch.access == Access::Read) {
        return None;
    }
    let root = Path::new("/");
    let real = paths::real(home, root, root);
    let cwd = Path::new(facts.cwd.as_deref().unwrap_or("/"));
    deed.touched
        .iter()
        .filter(|touch| touch.access != Access::Read)
        .find(|touch| {
            let path = paths::folded(Path::new(&touch.path), cwd, Path::new(&facts.home));
            let gone = touch.access == Access::Delete;
            let free = |rest: &Path| petasos_analysis::is_free(&rest.to_string_lossy());
            [home, real.as_path()].into_iter().any(|home| {
                path.strip_prefix(home).is_ok_and(|rest| !free(rest))
                    || gone && home.starts_with(&path)
            })
        })
        .map(|touch| touch.path.clone())
}

/// Whether the agent's own keys and tokens are read.
pub(super) fn reads_credentials(deed: &Deed, facts: &Facts) -> bool {
    const CREDENTIALS: [&str; 6] =
        [".env", "auth.json", "mcp-tokens", "pairing", "credentials", "oauth"];
    let Some(home) = facts.agent_home.as_deref().map(Path::new) else { return false };
    deed.touched.iter().filter(|touch| touch.access == Access::Read).any(|touch| {
        let rest = Path::new(&touch.path).strip_prefix(home);
        rest.is_ok_and(|rest| CREDENTIALS.iter().any(|name| rest.starts_with(name)))
    })
}
