//! Multi-link devices as tables: the access points and stations that are one, and how data between two
//! devices divides over their links.

use crate::table::{Column, count, number, percent, text, value};
use lasthop_capture::document::CaptureDocument;

/// Columns of the table.
pub const COLUMNS: [Column; 5] =
    [text("device"), text("is"), text("link"), text("sends as"), text("of")];

/// Returns a row for each link, with the network or access point of its address.
pub fn rows(document: &CaptureDocument) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (address, device) in &document.devices {
        let emlsr = device.emlsr.as_ref().map_or("", |_| ", supports EMLSR");
        let kind = if device.access_point { "access point" } else { "station" };
        let mut head = vec![address.clone(), format!("{kind}{emlsr}")];
        for (link, about) in &device.links {
            let id = about.link_id.map_or(String::new(), |id| id.to_string());
            rows.push([head, vec![id, link.clone(), place(document, link)]].concat());
            head = vec![String::new(); 2];
        }
    }
    rows
}

/// Columns of the table of data.
pub const DATA_COLUMNS: [Column; 12] = [
    text("from device"),
    text("to device"),
    text("sends as"),
    number("", "Mb/s"),
    number("delivered", "MPDUs"),
    number("delivered", "%"),
    number("", "retry %"),
    number("from", "others"),
    number("reordered", "MPDUs"),
    number("wait, ms", "mean"),
    number("wait, ms", "most"),
    number("acknowledged", "%"),
];

/// Returns a row for each direction between two devices with several links, and one for each link.
pub fn data_rows(document: &CaptureDocument) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (from, device) in &document.devices {
        for (to, data) in &device.to {
            let delivered: u64 = data.links.values().map(|link| link.delivered).sum();
            let [mbps, delivered] = [value(data.throughput_mbps), count(delivered)];
            let mut head = vec![from.clone(), to.clone(), "all links".to_owned(), mbps, delivered];
            head.resize(DATA_COLUMNS.len() - 1, String::new());
            head.push(percent(data.acknowledged));
            rows.push(head);
            for (address, link) in &data.links {
                let retries = link.retries as f64 / link.mpdus.max(1) as f64;
                let [mean, most] = link.reorder_ms.map(value);
                rows.push(vec![
                    String::new(),
                    String::new(),
                    address.clone(),
                    value(link.throughput_mbps),
                    count(link.delivered),
                    percent(link.share),
                    percent(retries),
                    count(link.taken_over),
                    count(link.reordered),
                    mean,
                    most,
                    String::new(),
                ]);
            }
        }
    }
    rows
}

/// Returns the same rows for a page, where sender and link share the first column.
pub fn narrow_rows(document: &CaptureDocument) -> Vec<Vec<String>> {
    let narrow = |row: Vec<String>| match &row[..] {
        [from, to, sends_as, numbers @ ..] => {
            let sender = if from.is_empty() { sends_as } else { &format!("{from}, {sends_as}") };
            [&[sender.clone(), to.clone()], numbers].concat()
        }
        _ => row,
    };
    data_rows(document).into_iter().map(narrow).collect()
}

/// Returns the name of the network of an access point, or the address of a station's access point.
fn place(document: &CaptureDocument, address: &str) -> String {
    let interfaces = document.interfaces.iter().map(|interface| &interface.networks);
    for networks in std::iter::once(&document.networks).chain(interfaces) {
        if let Some(network) = networks.get(address) {
            let name = network.ssid.clone().unwrap_or_else(|| "(hidden)".to_owned());
            return name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        }
        let of = networks.iter().find(|(_, network)| network.stations.contains_key(address));
        if let Some((access_point, _)) = of {
            return access_point.clone();
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_capture::analysis::Analysis;
    use lasthop_capture::document::{DeviceLinkSummary, DeviceSummary, EmlsrSummary};

    #[test]
    fn links_of_one_device_stand_together() {
        let mut document = CaptureDocument::new("-", &Analysis::default());
        let style = crate::style::Style::PLAIN;
        assert!(!crate::capture::text::report(&document, style).contains("Multi-link"));
        let link = |link_id| DeviceLinkSummary { link_id };
        let device = DeviceSummary {
            access_point: false,
            links: [("02:00:00:00:02:01", None), ("02:00:00:00:02:02", Some(1))]
                .map(|(address, id)| (address.to_owned(), link(id)))
                .into(),
            emlsr: Some(EmlsrSummary { padding_us: Some(64), transition_us: Some(128) }),
            to: Default::default(),
        };
        document.devices.insert("02:00:00:00:02:00".to_owned(), device);
        assert_eq!(data_rows(&document), Vec::<Vec<String>>::new());
        let expected = [
            ["02:00:00:00:02:00", "station, supports EMLSR", "", "02:00:00:00:02:01", ""],
            ["", "", "1", "02:00:00:00:02:02", ""],
        ];
        assert_eq!(rows(&document), expected);
        let text = crate::capture::text::report(&document, style);
        assert!(!text.contains("Data between"), "{text}");
        let (_, text) = text.split_once("Multi-link devices\n").expect("its title");
        assert!(text.contains("02:00:00:00:02:01") && text.contains("02:00:00:00:02:02"), "{text}");
    }

    /// The row of a direction names both devices, that of a link its sender.
    #[test]
    fn a_page_has_a_row_for_a_direction_and_each_of_its_links() {
        let json = r#"{"access_point": true, "links": {}, "to": {"02::1": {"throughput_mbps": 9.0, "payload_bytes": 90,
            "chains": 10, "attempts": [10], "acknowledged": 0.5, "links": {"02::a": {"to": "02::b",
            "interface": 0, "throughput_mbps": 8.0, "mpdus": 20, "retries": 5, "taken_over": 3,
            "delivered": 7, "share": 1.0, "reordered": 2, "reorder_ms": [0.25, 4.0]}}}}}"#;
        let mut document = CaptureDocument::new("-", &Analysis::default());
        let device = serde_json::from_str(json).expect("a device");
        document.devices.insert("02::0".to_owned(), device);
        let expected = [
            ["02::0, all links", "02::1", "9.00", "7", "", "", "", "", "", "", "50.00"],
            ["02::a", "", "8.00", "7", "100.0", "25.00", "3", "2", "0.250", "4.00", ""],
        ];
        assert_eq!(narrow_rows(&document), expected);
    }
}
