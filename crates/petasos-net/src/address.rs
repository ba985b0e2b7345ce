//! What may be reached: rules over addresses, applied when a name has become an address.
//!
//! A rule on names alone loses to a name server that changes its answer, so the check sits in the
//! resolver that the connector uses. Addresses written into a URL never reach a resolver and are
//! checked by the client before each hop. What the user excepts is asked of `sites`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::sites::{SiteRules, is_metadata_name};

/// How far a request may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Anywhere a user may point it to, their own network included; never a cloud's metadata
    /// service.
    Anywhere,
    /// Only the public internet: for addresses that a model or a page chose. The client and the
    /// filtering proxy widen it to `Private` for what the user's settings except.
    PublicOnly,
    /// The user's own network too, because they said so for this place; never what is link-local.
    Private,
    /// Only a cloud's metadata service or this machine: for the keys that a cloud hands to what
    /// runs in it, and for nothing that anybody else chose.
    OwnMetadata,
}

/// An address that may not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} leads to {address}, which is {why}; it is not reached from here")]
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
            Self::Private if is_link_local(address) => Some("a link-local address"),
            Self::Anywhere | Self::OwnMetadata | Self::Private => None,
            Self::PublicOnly if is_public(address) => None,
            Self::PublicOnly => Some("not on the public internet"),
        }
    }

    /// Checks an address that is written into the URL itself.
    pub(crate) fn check_literal(self, url: &Url, rules: &SiteRules) -> Result<(), AddressRefused> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        self.check(&address.to_string(), address, rules)
    }

    pub(crate) fn check(
        self,
        host: &str,
        address: IpAddr,
        rules: &SiteRules,
    ) -> Result<(), AddressRefused> {
        let excepted = self == Self::PublicOnly && rules.excepts(address);
        let reach = if excepted { Self::Private } else { self };
        match reach.objection(address) {
            None => Ok(()),
            Some(why) => Err(AddressRefused { host: host.to_owned(), address, why }),
        }
    }

    /// Looks a name up and refuses the whole answer when one address of it is out of reach.
    pub(crate) async fn resolve(
        self,
        host: &str,
        rules: &SiteRules,
    ) -> Result<Vec<IpAddr>, Box<dyn std::error::Error + Send + Sync>> {
        if self != Self::OwnMetadata && is_metadata_name(host) {
            let address = IpAddr::V4(METADATA_V4);
            let why = "a cloud metadata service";
            return Err(Box::new(AddressRefused { host: host.to_owned(), address, why }));
        }
        let found = rules.look_up(host).await?;
        // One bad address among good ones is how rebinding begins: the whole answer is refused.
        for address in &found {
            self.check(host, *address, rules)?;
        }
        Ok(found)
    }
}

/// Where most clouds offer their metadata.
const METADATA_V4: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// Addresses that no router passes on.
fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => {
            matches!(address.segments(), [0xfe80..=0xfebf, ..])
                || embedded(address).is_some_and(|inner| inner.is_link_local())
        }
    }
}

/// The addresses at which clouds hand credentials to whoever asks.
fn is_metadata(address: IpAddr) -> bool {
    const V4: [Ipv4Addr; 5] = [
        METADATA_V4,
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

/// The IPv4 address that another form of address stands for: translated (NAT64, 6to4) or written
/// into the old compatible form.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(join(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(join(high, low)),
        _ => None,
    }
}

/// The resolver of the connector: looks a name up and lets only permitted addresses through.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) reach: Reach,
    pub(crate) rules: Arc<SiteRules>,
    /// Proxies are chosen by the user and may sit on a private network.
    pub(crate) proxy_hosts: Arc<[String]>,
}

impl Resolve for Gate {
    fn resolve(&self, name: Name) -> Resolving {
        let (reach, rules) = (self.reach, Arc::clone(&self.rules));
        let exempt = self.proxy_hosts.iter().any(|host| host.eq_ignore_ascii_case(name.as_str()));
        Box::pin(async move {
            let host = name.as_str();
            let found = if exempt {
                rules.look_up(host).await?
            } else {
                reach.resolve(host, &rules).await?
            };
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
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
