//! Machines behind a real sshd: one with `bash`, one with `busybox` alone.

use crate::conformance::{Bed, conforms};
use crate::ssh::server::{Machine, server};

#[tokio::test]
async fn a_machine_over_ssh_conforms() {
    let Some(server) = server("a_machine_over_ssh_conforms", Machine::Apart) else { return };
    conforms(Bed::new("ssh", server.stage()).await).await;
}

#[tokio::test]
async fn a_machine_without_bash_conforms() {
    let Some(server) = server("a_machine_without_bash_conforms", Machine::Busybox) else { return };
    conforms(Bed::new("ssh, busybox", server.stage()).await).await;
}
