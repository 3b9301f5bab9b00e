//! Hosts and ports as arguments: `HOST`, `HOST:PORT`, `192.0.2.1`, `2001:db8::1`,
//! `[2001:db8::1]:4796`, and for a server also `:PORT`. The default port is that of
//! `apq serve`, or the default of the caller.

use crate::failure::Failure;
#[cfg(feature = "lab")]
use lasthop_daemon::apq::{Bind, PORT};
#[cfg(feature = "lab")]
use std::net::IpAddr;
use std::net::{SocketAddr, ToSocketAddrs};

/// A host by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name or address, as written, without the port.
    pub name: String,
    /// Port number (UDP).
    pub port: u16,
}

impl Host {
    /// Parses an argument of the form `HOST[:PORT]`.
    ///
    /// # Errors
    /// A message with the expected form.
    #[cfg(feature = "lab")]
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_with(text, PORT)
    }

    /// Parses `HOST[:PORT]`, with `default` if there is no port.
    ///
    /// # Errors
    /// A message with the expected form.
    pub fn parse_with(text: &str, default: u16) -> Result<Self, String> {
        let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, "")) => (name, None),
            Some((name, port)) => {
                (name, Some(port.strip_prefix(':').ok_or("expected [ADDR]:PORT")?))
            }
            // An IPv6 address has several colons; then there is no port.
            None if text.matches(':').count() == 1 => {
                let (name, port) = text.split_once(':').expect("it has a colon");
                (name, Some(port))
            }
            None => (text, None),
        };
        if name.is_empty() {
            return Err("expected HOST or HOST:PORT".into());
        }
        Ok(Self { name: name.into(), port: port.map_or(Ok(default), parse_port)? })
    }

    /// Resolves the name to an address.
    ///
    /// # Errors
    /// An error if it cannot be resolved.
    pub fn resolve(&self) -> Result<SocketAddr, Failure> {
        self.find().map_err(Failure::Message)
    }

    /// Resolves the name to an address, with a text as error.
    ///
    /// # Errors
    /// An error if it cannot be resolved.
    pub fn find(&self) -> Result<SocketAddr, String> {
        let unknown = |why: String| format!("cannot find {}: {why}", self.name);
        let mut found = (self.name.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|why| unknown(why.to_string()))?;
        found.next().ok_or_else(|| unknown("it has no address".into()))
    }
}

/// Parses `ADDR:PORT`, `ADDR` or `:PORT`.
///
/// # Errors
/// A message with the expected form.
#[cfg(feature = "lab")]
pub fn parse_bind(text: &str) -> Result<Bind, String> {
    if let Some(port) = text.strip_prefix(':').filter(|port| !port.contains(':')) {
        return parse_port(port).map(Bind::Everywhere);
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(Bind::Address(address));
    }
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    match bare.parse::<IpAddr>() {
        Ok(ip) => Ok(Bind::Address((ip, PORT).into())),
        Err(_) => {
            Err("expected an address of this host: ADDR, ADDR:PORT, [ADDR]:PORT or :PORT".into())
        }
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("expected a port, 1 to 65535, not \"{text}\"")),
        Ok(port) => Ok(port),
    }
}

#[cfg(all(test, feature = "lab"))]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_the_default_port_unless_they_name_one() {
        let host = |name: &str, port| Ok(Host { name: name.into(), port });
        assert_eq!(Host::parse("server"), host("server", PORT));
        assert_eq!(Host::parse("server:80"), host("server", 80));
        assert_eq!(Host::parse("2001:db8::1"), host("2001:db8::1", PORT));
        assert_eq!(Host::parse("[2001:db8::1]:80"), host("2001:db8::1", 80));
        assert_eq!(Host::parse("[::1]"), host("::1", PORT));
        for wrong in ["", ":80", "server:", "server:0", "server:65536", "[::1]80", "server:x"] {
            assert!(Host::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_server_is_somewhere_or_everywhere() {
        assert_eq!(parse_bind(":80"), Ok(Bind::Everywhere(80)));
        let at = |text: &str| Ok(Bind::Address(text.parse().unwrap()));
        assert_eq!(parse_bind("192.0.2.1"), at("192.0.2.1:4796"));
        assert_eq!(parse_bind("192.0.2.1:0"), at("192.0.2.1:0"));
        assert_eq!(parse_bind("::1"), at("[::1]:4796"));
        assert_eq!(parse_bind("[::1]"), at("[::1]:4796"));
        assert_eq!(parse_bind("[::1]:9"), at("[::1]:9"));
        for wrong in ["", "server", "server:80", ":", ":0", "192.0.2.1:x"] {
            assert!(parse_bind(wrong).is_err(), "{wrong}");
        }
    }
}
