//! Public addresses, by the special-purpose address registries of IANA (RFC 6890 and its updates).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is on the public Internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Whether a name stands for this machine or its network whatever a resolver says (RFC 6761, RFC 6762).
pub(super) fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    matches!(last, "" | "localhost" | "local" | "localdomain" | "internal")
}

#[expect(clippy::unnested_or_patterns, reason = "one entry of the registries a line")]
fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        // This network, and unspecified.
        [0, ..]
        // Private.
        | [10, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        // Shared by carriers.
        | [100, 64..=127, ..]
        // Loopback.
        | [127, ..]
        // Link-local; the metadata service of clouds.
        | [169, 254, ..]
        // Protocol assignments, documentation, relays to IPv6.
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        // Benchmarks, documentation.
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        // Multicast, reserved, broadcast.
        | [224..=255, ..]
    )
}

/// Global unicast is 2000::/3. All else is special, IPv4 inside of IPv6 too: mapped, compatible, behind NAT64.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Protocol assignments, Teredo among them; documentation.
        [0x2001, second, ..] => second >= 0x0200 && second != 0x0db8,
        // 6to4, which embeds IPv4; documentation.
        [0x2002, ..] | [0x3fff, ..=0x0fff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}
