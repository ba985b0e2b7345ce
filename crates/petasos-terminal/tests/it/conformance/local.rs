//! This machine, which every other place is measured against.

use crate::conformance::{Bed, conforms};
use crate::stage::Stage;

#[tokio::test]
async fn the_local_terminal_conforms() {
    conforms(Bed::new("local", Stage::new()).await).await;
}
