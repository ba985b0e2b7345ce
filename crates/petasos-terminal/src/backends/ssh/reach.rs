//! Whether a machine answers, asked without logging in: its name, its port, its greeting.
//!
//! What lies behind a jump host or a proxy of the configuration can only be asked by connecting,
//! so it counts as reachable until it is used.

use std::io;
use std::time::{Duration, Instant};

use petasos_contract::environment::Exports;
use petasos_contract::wait;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::target::Target;
use super::{Here, QUERY, argv, plain, program, trouble};
use crate::backend::Opening;
use crate::remote::{HostPrograms, capture};

/// How long the machine may take to greet.
const GREETING: Duration = Duration::from_millis(1500);

/// Where the configuration leads.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Straight { host: String, port: u16 },
    Around,
}

/// Asks.
pub(super) async fn reach(opening: Opening<'_>) -> Result<(), String> {
    let settings = opening.settings;
    let target = Target::of(settings)?;
    let ssh = program(settings)?;
    let host = HostPrograms::new(opening, Exports::new()).await.map_err(|no| no.to_string())?;
    let query = plain(argv::query(&ssh, &target));
    let answer = capture(&Here(&host), query, QUERY).await.map_err(|no| no.to_string())?;
    if answer.code != 0 {
        return Err(trouble::explain(&answer.errors, &target.label()));
    }
    let Way::Straight { host, port } = way(&String::from_utf8_lossy(&answer.output)) else {
        return Ok(());
    };
    let deadline = Instant::now() + GREETING;
    let greeted = wait::until(deadline, "the greeting of ssh", greeting(&host, port)).await;
    let greeted = greeted.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    greeted.map_err(|error| trouble::explain(&error.to_string(), &target.label()))
}

async fn greeting(host: &str, port: u16) -> io::Result<()> {
    let mut stream = TcpStream::connect((host, port)).await?;
    let mut first = [0; 4];
    stream.read_exact(&mut first).await?;
    if &first == b"SSH-" {
        return Ok(());
    }
    Err(io::Error::other("connection closed: what answers there is no ssh"))
}

/// From what `ssh -G` printed.
fn way(configuration: &str) -> Way {
    let value = |name: &str| {
        let mut lines = configuration.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    let goes_around =
        ["proxyjump", "proxycommand"].iter().any(|key| !matches!(value(key), None | Some("none")));
    let port = value("port").and_then(|port| port.parse().ok());
    match (value("hostname"), port) {
        (Some(host), Some(port)) if !goes_around => Way::Straight { host: host.to_owned(), port },
        _ => Way::Around,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_straight_way_is_asked() {
        let straight = "user me\nhostname 10.0.0.1\nport 2222\nproxycommand none\n";
        let host = "10.0.0.1".to_owned();
        assert_eq!(way(straight), Way::Straight { host, port: 2222 });
        assert_eq!(way("hostname a\nport 22\nproxyjump b\n"), Way::Around);
        assert_eq!(way("hostname a\nport 22\nproxycommand nc %h %p\n"), Way::Around);
    }
}
