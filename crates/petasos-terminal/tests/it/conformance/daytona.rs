//! A sandbox of the stand-in for Daytona, which the vendor's own library accepts.

use serde_json::json;

use crate::conformance::{Bed, conforms};
use crate::hosted::{DETACH, stand_in};

#[tokio::test(flavor = "multi_thread")]
async fn a_daytona_sandbox_conforms() {
    let terminal = json!({ "backend": "daytona", "container_persistent": false });
    let names = ["DAYTONA_API_URL", "DAYTONA_API_KEY"];
    let Some(stage) = stand_in("a_daytona_sandbox_conforms", "daytona", &terminal, &names) else {
        return;
    };
    let bed = Bed::new("daytona", stage).await;
    conforms(bed.lacks(DETACH.0, DETACH.1)).await;
}
