//! Whether our figure agrees with another's. What "agrees" means is for the judge to say, and
//! to show beside the verdict: a band, a share of the other, an interval of confidence.

/// Whether our figure agrees with another's.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Ours is within what was asked for.
    Pass,
    /// It is not.
    Fail,
    /// Shown only: nothing was asked for.
    Listed,
}

impl Verdict {
    /// `Pass` if `ok`.
    pub const fn of(ok: bool) -> Self {
        if ok { Self::Pass } else { Self::Fail }
    }

    /// In a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Listed => "listed",
        }
    }

    /// As Markdown has it, failures so that they are seen.
    pub const fn markdown(self) -> &'static str {
        match self {
            Self::Fail => "**fail**",
            Self::Pass | Self::Listed => self.as_str(),
        }
    }
}
