//! What may be reached: rules over addresses, applied when a name has become an address.
//!
//! A rule on names alone loses to a name server that changes its answer, so the check sits in the
//! resolver that the connector uses. Addresses written into a URL never reach a resolver and are
//! checked by the client before each hop.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// How far a request may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Anywhere a user may point it to, their own network included; never a cloud's metadata
    /// service.
    Anywhere,
    /// Only the public internet: for addresses that a model or a page chose.
    PublicOnly,
    /// Only a cloud's metadata service or this machine: for the keys that a cloud hands to what
    /// runs in it, and for nothing that anybody else chose.
    OwnMetadata,
}

/// An address that may not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{host}` leads to {address}, which is {why}; it is not reached from here")]
pub struct AddressRefused {
    /// The name or address asked for.
    pub host: String,
    /// The address behind it.
    pub address: IpAddr,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Reach {
    /// Why an address is out of reach, or `None` when it is fine.
    pub fn objection(self, address: IpAddr) -> Option<&'static str> {
        let address = address.to_canonical();
        if self == Self::OwnMetadata {
            let own = is_metadata(address) || address.is_loopback();
            return if own { None } else { Some("no cloud metadata service") };
        }
        if is_metadata(address) {
            return Some("a cloud metadata service");
        }
        match self {
            Self::Anywhere | Self::OwnMetadata => None,
            Self::PublicOnly if is_public(address) => None,
            Self::PublicOnly => Some("not on the public internet"),
        }
    }

    /// Checks an address that is written into the URL itself.
    pub(crate) fn check_literal(self, url: &Url) -> Result<(), AddressRefused> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        self.check(&address.to_string(), address)
    }

    fn check(self, host: &str, address: IpAddr) -> Result<(), AddressRefused> {
        match self.objection(address) {
            None => Ok(()),
            Some(why) => Err(AddressRefused { host: host.to_owned(), address, why }),
        }
    }
}

/// The addresses at which clouds hand credentials to whoever asks.
fn is_metadata(address: IpAddr) -> bool {
    const V4: [Ipv4Addr; 5] = [
        Ipv4Addr::new(169, 254, 169, 254),
        Ipv4Addr::new(169, 254, 170, 2),
        Ipv4Addr::new(169, 254, 170, 23),
        Ipv4Addr::new(100, 100, 100, 200),
        Ipv4Addr::new(168, 63, 129, 16),
    ];
    const V6: [Ipv6Addr; 2] = [
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    ];
    match address {
        IpAddr::V4(address) => V4.contains(&address),
        IpAddr::V6(address) => {
            V6.contains(&address) || embedded(address).is_some_and(|v4| V4.contains(&v4))
        }
    }
}

/// Whether an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let benchmark = a == 198 && (b == 18 || b == 19);
    let assigned = a == 192 && b == 0 && c == 0;
    let relay = a == 192 && b == 88 && c == 99;
    !(a == 0
        || a >= 224
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || shared
        || benchmark
        || assigned
        || relay)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Global unicast is 2000::/3; Teredo and the documentation range lie inside it.
    let global = first & 0xe000 == 0x2000;
    let teredo_or_assigned = first == 0x2001 && second < 0x200;
    let documentation = first == 0x2001 && second == 0xdb8;
    global && !teredo_or_assigned && !documentation
}

/// The IPv4 address that a translated IPv6 address stands for (NAT64 and 6to4).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = segments {
        return Some(join(high, low));
    }
    if let [0x2002, high, low, ..] = segments {
        return Some(join(high, low));
    }
    None
}

/// The resolver of the connector: looks a name up and lets only permitted addresses through.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) reach: Reach,
    /// Proxies are chosen by the user and may sit on a private network.
    pub(crate) proxy_hosts: Arc<[String]>,
}

impl Resolve for Gate {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.reach;
        let exempt = self.proxy_hosts.iter().any(|host| host.eq_ignore_ascii_case(name.as_str()));
        Box::pin(async move {
            let host = name.as_str();
            let found = look_up(host).await?;
            if exempt {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            // One bad address among good ones is how rebinding begins: the whole answer is refused.
            for address in &found {
                reach.check(host, address.ip())?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Looks a name up. `localhost` is this machine whatever a name server says.
async fn look_up(host: &str) -> std::io::Result<Vec<SocketAddr>> {
    if host == "localhost" || host.ends_with(".localhost") {
        let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        return Ok(here.map(|address| SocketAddr::new(address, 0)).to_vec());
    }
    Ok(tokio::net::lookup_host((host, 0)).await?.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let public = ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "172.32.0.1"];
        let private = [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "172.16.0.1",
            "192.168.0.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "fec0::1",
        ];
        let judge = |text: &&str| (is_public(text.parse().unwrap()), text.to_string());
        assert_eq!(public.iter().map(judge).find(|(answer, _)| !answer), None);
        assert_eq!(private.iter().map(judge).find(|(answer, _)| *answer), None);
    }

    #[test]
    fn metadata_services_are_out_of_reach_for_everyone() {
        for text in
            ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"]
        {
            let address = text.parse().unwrap();
            assert_eq!(
                Reach::Anywhere.objection(address),
                Some("a cloud metadata service"),
                "{text}"
            );
        }
        assert_eq!(Reach::Anywhere.objection("192.168.1.7".parse().unwrap()), None);
        for (text, own) in [("169.254.170.23", true), ("127.0.0.1", true), ("192.168.1.7", false)] {
            let objection = Reach::OwnMetadata.objection(text.parse().unwrap());
            assert_eq!(objection.is_none(), own, "{text}");
        }
    }
}
