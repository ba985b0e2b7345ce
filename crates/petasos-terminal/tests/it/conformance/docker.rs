//! Containers of a real engine: one with `bash`, one with `busybox` alone.

use serde_json::json;

use crate::conformance::{Bed, conforms};
use crate::docker::{BUSYBOX, IMAGE, engine};

#[tokio::test]
async fn a_container_conforms() {
    let Some(engine) = engine("a_container_conforms") else { return };
    let stage = engine.stage(&json!({ "docker_image": IMAGE, "container_persistent": false }));
    conforms(not_yet(Bed::new("docker", stage).await)).await;
}

#[tokio::test]
async fn a_container_without_bash_conforms() {
    let Some(engine) = engine("a_container_without_bash_conforms") else { return };
    let stage = engine.stage(&json!({ "docker_image": BUSYBOX, "container_persistent": false }));
    conforms(not_yet(Bed::new("docker, busybox", stage).await)).await;
}

/// What holds in most runs and not in every one.
fn not_yet(bed: Bed) -> Bed {
    bed.lacks(
        "a terminal can be typed to and resized",
        "the engine's client may miss a change of size right after the start",
    )
    .lacks(
        "a dropped call leaves nothing running",
        "seen to fail in two of six runs: the engine did not always end the input",
    )
    .lacks(
        "commands leave no files and no processes of ours behind",
        "follows from a dropped call that was left running",
    )
}
