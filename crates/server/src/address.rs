//! Peers by address.

use std::net::{IpAddr, Ipv6Addr};

/// What stands for a peer where peers are counted: its address, and of IPv6 the network (/64), as a network has more
/// addresses than could be counted.
pub(crate) fn peer_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}
