//! A sandbox of the stand-in for Modal, which the vendor's own library accepts.

use serde_json::json;

use crate::conformance::{Bed, conforms};
use crate::hosted::{DETACH, stand_in};

#[tokio::test(flavor = "multi_thread")]
async fn a_modal_sandbox_conforms() {
    let terminal = json!({ "backend": "modal", "container_persistent": false });
    let names = ["MODAL_SERVER_URL", "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"];
    let Some(stage) = stand_in("a_modal_sandbox_conforms", "modal", &terminal, &names) else {
        return;
    };
    let bed = Bed::new("modal", stage).await;
    conforms(bed.lacks(DETACH.0, DETACH.1)).await;
}
