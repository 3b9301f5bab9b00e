//! The kept JSON Schema, `schemas/franc.json`, is that of the document's types.
//! `UPDATE_SCHEMAS=1` writes it anew.

use lasthop_fixtures::kept;
use lasthop_franc_node::document::{FrancDocument, franc_schema};
use schemars::schema_for;

#[test]
fn the_kept_schema_is_that_of_the_document() {
    let made = schema_for!(FrancDocument).to_value();
    kept::schema("franc", &format!("{made:#}\n"));
    // A file that was just written is not yet built in.
    assert!(kept::is_updating() || franc_schema() == made, "another schema is given");
}
