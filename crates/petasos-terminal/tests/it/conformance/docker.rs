//! Containers of a real engine: one with `bash`, one with `busybox` alone.

use serde_json::json;

use crate::conformance::{Bed, conforms};
use crate::docker::{BUSYBOX, IMAGE, engine};

#[tokio::test]
async fn a_container_conforms() {
    let Some(engine) = engine("a_container_conforms") else { return };
    let stage = engine.stage(&json!({ "docker_image": IMAGE, "container_persistent": false }));
    conforms(Bed::new("docker", stage).await).await;
}

#[tokio::test]
async fn a_container_without_bash_conforms() {
    let Some(engine) = engine("a_container_without_bash_conforms") else { return };
    let stage = engine.stage(&json!({ "docker_image": BUSYBOX, "container_persistent": false }));
    conforms(Bed::new("docker, busybox", stage).await).await;
}
