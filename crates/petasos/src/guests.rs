//! The MCP servers of a configuration beside a conversation: started in the background, waited for
//! no longer than the start budget, ended with what is returned. Nothing happens when none is
//! configured.

use std::sync::Arc;

use petasos_contract::approval::Approver;
use petasos_mcp::client::{Around, Servers, State};

use crate::host::Host;
use crate::out::Out;
use crate::report::Report;

/// What the servers of this host are started with.
pub(crate) fn around(host: &Host, people: Option<Arc<dyn Approver>>) -> Around {
    Around {
        settings: Arc::clone(host.settings()),
        net: host.net(),
        processes: host.ports().processes.clone(),
        registry: Arc::clone(host.catalogue().registry()),
        model: Some(Arc::new(host.model())),
        people,
    }
}

/// Starts the servers and waits for them as long as the first turn may wait. A required one that
/// does not work ends the run; the others join at a later turn, or say why not.
pub(crate) async fn start(
    host: &Host,
    people: Option<Arc<dyn Approver>>,
    out: Out,
) -> Result<Option<Servers>, Report> {
    if host.settings().get("mcp_servers").is_none() {
        return Ok(None);
    }
    let servers = Servers::start(&around(host, people));
    if servers.is_empty() {
        return Ok(None);
    }
    servers.settle(Servers::budget(host.settings())).await;
    if let Some(missing) = servers.missing() {
        return Err(Report::new(missing.to_string()).code("mcp_required"));
    }
    for view in servers.views() {
        match view.state {
            State::Ready | State::Resting | State::Disabled => {}
            other => out.remark(format!("MCP server `{}` is {other}", view.name)),
        }
    }
    Ok(Some(servers))
}
