//! The kept JSON Schema, `schemas/capture.json`, is what the types of the document give.
//! `UPDATE_SCHEMAS=1` writes it anew.

use lasthop_capture::document::{CaptureDocument, schema};
use lasthop_fixtures::kept;

#[test]
fn the_kept_schema_is_that_of_the_document() {
    let made = schemars::schema_for!(CaptureDocument).to_value();
    kept::schema("capture", &format!("{made:#}\n"));
    // A file that was just written is not yet built in.
    assert!(kept::is_updating() || schema() == made, "another schema is given");
}
