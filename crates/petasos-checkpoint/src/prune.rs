//! Drops the oldest copies beyond the limits.

use petasos_contract::CallContext;

use crate::error::CheckpointError as Error;
use crate::git::Git;
use crate::settings::CheckpointSettings;

/// After so many copies were dropped their objects are swept.
const SWEEP_EVERY: usize = 10;

/// Drops the oldest copies beyond the limits.
pub(crate) async fn prune(
    git: &Git,
    settings: &CheckpointSettings,
    cx: &CallContext,
) -> Result<(), Error> {
    let listed = git
        .text(
            "git for-each-ref --sort=refname --format='%(refname)' refs/petasos/\n\
             git count-objects -v",
            cx,
        )
        .await?;
    let refs: Vec<&str> = listed.lines().filter(|line| line.starts_with("refs/")).collect();
    let size = |name: &str| -> u64 {
        let line = listed.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|size| size.trim().parse().ok()).unwrap_or(0)
    };
    let is_large = size("size:") + size("size-pack:") > settings.max_total_size_mb << 10;
    let most = settings.max_snapshots.max(1);
    let surplus = refs.len().saturating_sub(most);
    // A little room, so that objects are swept once in a while and not at every copy.
    let dropped = match (is_large, surplus) {
        (true, _) => (refs.len() / 2).max(surplus),
        (false, 0..SWEEP_EVERY) => return drop_refs(git, refs.get(..surplus), "", cx).await,
        (false, surplus) => surplus,
    };
    let sweep = "git gc -q --prune=now";
    drop_refs(git, refs.get(..dropped), sweep, cx).await
}

async fn drop_refs(
    git: &Git,
    refs: Option<&[&str]>,
    then: &str,
    cx: &CallContext,
) -> Result<(), Error> {
    let refs = refs.unwrap_or_default();
    if refs.is_empty() {
        return Ok(());
    }
    let orders: String = refs.iter().flat_map(|name| ["delete ", name, "\n"]).collect();
    let script = format!("git update-ref --stdin\n{then}");
    git.run(&script, orders.into_bytes(), cx).await.map(drop)
}
