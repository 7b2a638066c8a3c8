//! Ports that nobody listens on.

use std::net::{Ipv4Addr, TcpListener};

/// Below the ports that kernels hand to outgoing connections, so that a server which is down for a moment does not lose
/// its port to one of them.
const RANGE: std::ops::Range<u16> = 10_000..32_000;

/// A loopback port that is free now. Another process may take it before a server does: the server's start tries again.
pub(crate) fn free() -> u16 {
    let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    std::iter::repeat_with(|| fastrand::u16(RANGE))
        .take(1000)
        .find(free)
        .unwrap_or_else(|| panic!("no free port among 1000 tried"))
}
