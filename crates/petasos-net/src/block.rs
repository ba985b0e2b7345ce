//! Blocks of addresses, as people write them into settings.

use std::net::IpAddr;

/// A block of addresses such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    start: IpAddr,
    bits: u32,
}

impl Block {
    pub(crate) fn parse(rule: &str) -> Option<Self> {
        let (start, bits) = rule.split_once('/')?;
        let start: IpAddr = start.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
        let bits: u32 = bits.parse().ok()?;
        let most = if start.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { start, bits })
    }

    pub(crate) fn holds(self, address: IpAddr) -> bool {
        // Bits after the prefix do not count; a shift by the whole width leaves nothing to compare.
        match (self.start, address) {
            (IpAddr::V4(start), IpAddr::V4(address)) => {
                let differing = start.to_bits() ^ address.to_bits();
                differing.checked_shr(32 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(start), IpAddr::V6(address)) => {
                let differing = start.to_bits() ^ address.to_bits();
                differing.checked_shr(128 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}
