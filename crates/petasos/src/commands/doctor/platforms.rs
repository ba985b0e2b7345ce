//! Every configured chat platform, tried: does it know us?

use petasos_gateway::{PLATFORMS, Tried, try_accounts};

use super::{Finding, bad};
use crate::host::Host;
use crate::report::Report;

const PART: &str = "chats";

pub(super) fn look(host: &Host, findings: &mut Vec<Finding>) -> Result<(), Report> {
    let platforms = PLATFORMS.iter().copied().filter(|def| def.name != "loopback");
    let tried = host.wait(try_accounts(host.settings(), &host.net(), platforms))?;
    for (name, tried) in tried {
        findings.push(match tried {
            Tried::Works(who) => Finding::good(PART, format!("{name}: {who}")),
            Tried::Untried => Finding::note(
                PART,
                format!("{name}: configured, and not tried"),
                "`petasos gateway run` connects it and `petasos gateway status` shows how it is",
            ),
            Tried::Fails(why) => bad(
                PART,
                format!("{name}: {why}"),
                "`petasos gateway platforms` says what it needs",
            ),
        });
    }
    Ok(())
}
