//! Whose process is at the other end of a connection on this machine.
//!
//! The kernel lists every TCP socket with the user that owns it. Where it tells nothing, a
//! connection is taken for ours: the listener is on loopback, and refusing then would only mean
//! that there is no browser.

use std::net::{IpAddr, SocketAddr};

#[cfg(target_os = "linux")]
pub(super) fn is_ours(peer: SocketAddr, our_port: u16) -> bool {
    let IpAddr::V4(address) = peer.ip().to_canonical() else { return false };
    let Ok(table) = std::fs::read_to_string("/proc/net/tcp") else { return true };
    let hex = u32::from_le_bytes(address.octets());
    let local = format!("{hex:08X}:{:04X}", peer.port());
    let remote = format!(":{our_port:04X}");
    let ours = rustix::process::geteuid().as_raw();
    let owner = table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace();
        let (from, to) = (fields.nth(1)?, fields.next()?);
        if from != local || !to.ends_with(&remote) {
            return None;
        }
        fields.nth(4)?.parse::<u32>().ok()
    });
    owner.is_none_or(|owner| owner == ours)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_ours(peer: SocketAddr, _our_port: u16) -> bool {
    matches!(peer.ip(), IpAddr::V4(address) if address.is_loopback())
}
