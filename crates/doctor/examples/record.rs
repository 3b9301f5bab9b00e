//! Prints the answers of this machine's kernel, a line each: the request, and the bytes of a message
//! after its header as hexadecimal digits. Made the recordings in `tests/data`.

use lasthop_doctor::{nl80211, qdisc};
use lasthop_linux::dump::{DumpSocket, Protocol};
use lasthop_linux::message::Message;
use std::io::{self, Write};

fn main() -> io::Result<()> {
    let failed = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    let mut output = io::stdout().lock();
    let mut ask = |protocol, what: &str, message: Message| -> io::Result<Vec<Vec<u8>>> {
        let mut socket = DumpSocket::open(protocol).map_err(|error| failed(&error))?;
        let answers = socket.ask(message).map_err(|error| failed(&error))?;
        for answer in &answers {
            let digits: String = answer.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(output, "{what} {digits}")?;
        }
        Ok(answers)
    };
    ask(Protocol::Route, "qdisc", qdisc::ask())?;
    let families = ask(Protocol::Generic, "family", nl80211::ask_families())?;
    let mut families = families.iter().filter_map(|answer| nl80211::family(answer));
    let Some((_, family)) = families.find(|(name, _)| name == nl80211::FAMILY) else {
        return Ok(());
    };
    ask(Protocol::Generic, "radio", nl80211::ask_radios(family))?;
    let interfaces = ask(Protocol::Generic, "interface", nl80211::ask_interfaces(family))?;
    for interface in interfaces.iter().filter_map(|answer| nl80211::interface(answer)) {
        ask(Protocol::Generic, "station", nl80211::ask_stations(family, interface.index))?;
        // Access points have none.
        let _ =
            ask(Protocol::Generic, "power-save", nl80211::ask_power_save(family, interface.index));
    }
    Ok(())
}
