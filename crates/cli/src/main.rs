//! The program `lasthop`; the library of this package is all of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    lasthop::main()
}
