//! The kept JSON Schema, `schemas/reproduce.json`, is what the types of the document give.
//! `UPDATE_SCHEMAS=1` writes it anew.

use lasthop_fixtures::kept;
use lasthop_studies::reproduce::{Report, schema};

#[test]
fn the_kept_schema_is_that_of_the_document() {
    let made = schemars::schema_for!(Report).to_value();
    kept::schema("reproduce", &format!("{made:#}\n"));
    // A file that was just written is not yet built in.
    assert!(kept::is_updating() || schema() == made, "another schema is given");
}
