//! Keys for peers by address.

use std::net::{IpAddr, Ipv6Addr};

/// The key under which a peer is counted: its IPv4 address or its IPv6 network (/64). An IPv6 network has more
/// addresses than a server can count, so all its addresses share one key.
pub(crate) fn peer_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}
