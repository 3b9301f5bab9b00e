//! The kept JSON Schema, `schemas/doctor.json`, is what the types of the document give.
//! `UPDATE_SCHEMAS=1` writes it anew.

use lasthop_doctor::{DoctorDocument, schema};
use lasthop_fixtures::kept;

#[test]
fn the_kept_schema_is_that_of_the_document() {
    let made = schemars::schema_for!(DoctorDocument).to_value();
    kept::schema("doctor", &format!("{made:#}\n"));
    // A file that was just written is not yet built in.
    assert!(kept::is_updating() || schema() == made, "another schema is given");
}
