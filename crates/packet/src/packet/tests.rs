//! Packets and access categories, by the tables of RFC 8325.

use super::*;

/// RFC 8325, figure 1.
#[test]
fn user_priorities_are_those_of_rfc_8325() {
    let table = [
        (48, 7),
        (56, 7),
        (46, 6),
        (44, 6),
        (40, 5),
        (34, 4),
        (36, 4),
        (38, 4),
        (32, 4),
        (26, 4),
        (24, 4),
        (18, 3),
        (22, 3),
        (16, 0),
        (10, 0),
        (0, 0),
        (8, 1),
    ];
    for (dscp, priority) in table {
        assert_eq!(user_priority(dscp), priority, "DSCP {dscp}");
    }
}

#[test]
fn a_category_comes_back_from_its_code_point() {
    for category in AccessCategory::ALL {
        assert_eq!(AccessCategory::from_dscp(category.dscp()), category);
    }
}
