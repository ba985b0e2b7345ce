//! An agent of another vendor, really run, works for this one.

use super::clients::service;

/// Gemini's own program, before a scripted model on this machine: as a subagent and as the model
/// behind a session, what the editor denies does not run and what it allows does. The script knows
/// three more vendors, which are too large to be installed for every run.
#[test]
#[expect(clippy::disallowed_methods, reason = "the script starts agents, editors and models")]
fn an_agent_of_another_vendor_works_under_our_approvals() {
    if service("ACP_GEMINI").is_none() {
        let test = "an_agent_of_another_vendor_works_under_our_approvals";
        return petasos_testkit::skip(test, "acp", "the agent is not installed");
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/acp-agents");
    let ran = std::process::Command::new(script)
        .args([env!("CARGO_BIN_EXE_petasos"), "gemini"])
        .output()
        .expect("the script starts");
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    let good = told.lines().filter(|line| line.starts_with("gemini") && line.ends_with("good"));
    assert_eq!(good.count(), 4, "{told}");
}
