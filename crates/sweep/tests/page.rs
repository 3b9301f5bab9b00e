//! The page's script, run by node where there is one.

use std::path::Path;
use std::process::Command;

#[test]
fn the_page_draws_what_the_data_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (test, script) = (folder.join("tests/page.js"), folder.join("src/page.js"));
    match Command::new("node").args([&test, &script]).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n", "{errors}");
        }
        Err(why) => eprintln!("skipped, because node cannot be run: {why}"),
    }
}
