//! Every MCP server of the configuration, started as a conversation would.

use std::time::Duration;

use petasos_mcp::client::State;

use super::{Finding, bad};
use crate::commands::mcp::try_servers;
use crate::host::Host;
use crate::report::Report;

const PART: &str = "mcp";
/// A server that takes longer would keep a first turn waiting, too.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn look(host: &Host, findings: &mut Vec<Finding>) -> Result<(), Report> {
    if host.settings().get("mcp_servers").is_none() {
        return Ok(());
    }
    for view in try_servers(host, None, PATIENCE, None)? {
        let name = &view.name;
        let what = format!("{name}: {}", view.state);
        let again = format!(
            "`petasos mcp test {name}` tries it again, `petasos mcp logs {name}` shows what it wrote"
        );
        findings.push(match view.state {
            State::Ready | State::Resting => {
                Finding::good(PART, format!("{name}: {} tools", view.tools.len()))
            }
            State::Disabled => Finding::good(PART, what),
            State::NeedsAuth(_) => bad(PART, what, &format!("`petasos mcp login {name}` signs in")),
            State::Degraded(_) => Finding::note(PART, what, again),
            State::Starting | State::Retrying(_) | State::Failed(_) => bad(PART, what, &again),
        });
    }
    Ok(())
}
