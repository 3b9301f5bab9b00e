//! A measured queue as text and as plots.
//!
//! | module | content |
//! |---|---|
//! | [`words`] | results as text |
//! | `meaning` | consequences for users of the path |
//! | [`plots`] | delays and throughput as panels |

pub mod meaning;
#[cfg(feature = "apq")]
pub mod plots;
pub mod words;
