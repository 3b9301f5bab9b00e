//! The kept JSON Schemas, `schemas/NAME.json`, are what the types of the documents give.
//! `UPDATE_SCHEMAS=1` writes them anew.

use lasthop_fixtures::kept;
use lasthop_trace::{
    ApqDocument, Comparison, MeasuredComparison, MediumDocument, RunDocument, RunSet, apq_schema,
    comparison_schema, measured_comparison_schema, medium_schema, run_schema, run_set_schema,
};
use schemars::schema_for;

#[test]
fn the_kept_schemas_are_those_of_the_documents() {
    type Given = fn() -> serde_json::Value;
    for (name, given, made) in [
        ("apq", apq_schema as Given, schema_for!(ApqDocument)),
        ("comparison", comparison_schema, schema_for!(Comparison)),
        ("measured-comparison", measured_comparison_schema, schema_for!(MeasuredComparison)),
        ("medium", medium_schema, schema_for!(MediumDocument)),
        ("run", run_schema, schema_for!(RunDocument)),
        ("run-set", run_set_schema, schema_for!(RunSet)),
    ] {
        let made = made.to_value();
        kept::schema(name, &format!("{made:#}\n"));
        // A file that was just written is not yet built in.
        assert!(kept::is_updating() || given() == made, "another schema is given for {name}");
    }
}
