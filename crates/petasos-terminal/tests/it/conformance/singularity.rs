//! Containers of a real apptainer: one with `bash`, one with `busybox` alone.

use serde_json::json;

use crate::conformance::{Bed, conforms};
use crate::singularity::apptainer;
use crate::stage::Stage;

async fn bed(name: &'static str, stage: Stage) -> Bed {
    let case = "a full disk is said and leaves the old file";
    Bed::new(name, stage).await.lacks(case, "a closed-off container has no `/dev/full`")
}

#[tokio::test]
async fn a_container_of_apptainer_conforms() {
    let Some(apptainer) = apptainer("a_container_of_apptainer_conforms") else { return };
    let stage = apptainer.stage(&json!({ "singularity_image": apptainer.image }));
    conforms(bed("singularity", stage).await).await;
}

#[tokio::test]
async fn a_container_of_apptainer_without_bash_conforms() {
    let Some(apptainer) = apptainer("a_container_of_apptainer_without_bash") else { return };
    let stage = apptainer.stage(&json!({ "singularity_image": apptainer.busybox }));
    conforms(bed("singularity, busybox", stage).await).await;
}
