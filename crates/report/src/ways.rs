//! Drops between the nodes of an emulation and the machine (`--reach`, `--publish`), as text.

use lasthop_trace::WaySummary;

/// Returns the drops of a way as text that follows its name; `None` without drops.
pub fn dropped(way: &WaySummary) -> Option<String> {
    let WaySummary { connections_refused, datagrams_refused, datagrams_overflowed, .. } = way;
    let several = |number: u64, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    let mut parts = Vec::new();
    if *connections_refused > 0 {
        parts.push(format!("{} reset", several(*connections_refused, "connection")));
    }
    if *datagrams_refused > 0 {
        parts.push(format!("{} dropped", several(*datagrams_refused, "datagram")));
    }
    let mut told = Vec::new();
    if !parts.is_empty() {
        told.push(format!("{}: nobody listened at {}", parts.join(", "), way.far_side));
    }
    if *datagrams_overflowed > 0 {
        told.push(format!(
            "{} dropped at a full buffer",
            several(*datagrams_overflowed, "datagram")
        ));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_is_told_with_its_reason() {
        let none = WaySummary {
            far_side: "port 80 of server".into(),
            connections: 5,
            connections_refused: 0,
            clients: 2,
            clients_displaced: 0,
            datagrams_sent: 9,
            datagrams_answered: 9,
            datagrams_refused: 0,
            datagrams_overflowed: 0,
        };
        assert_eq!(dropped(&none), None);
        let some = WaySummary {
            connections_refused: 1,
            datagrams_refused: 2,
            datagrams_overflowed: 3,
            ..none
        };
        assert_eq!(
            dropped(&some).as_deref(),
            Some(
                "1 connection reset, 2 datagrams dropped: nobody listened at port 80 of server; \
                 3 datagrams dropped at a full buffer"
            )
        );
    }
}
