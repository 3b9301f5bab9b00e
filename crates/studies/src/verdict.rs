//! Whether our figure agrees with that of others. The caller decides what "agrees"
//! means, and shows it beside the verdict: a band, a ratio, an interval of confidence.
//! A figure without a target is listed only.

/// Whether our figure agrees with another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Our figure is within the target.
    Pass,
    /// Our figure is outside the target.
    Fail,
    /// The figure has no target and is shown only.
    Listed,
}

impl Verdict {
    /// Returns [`Verdict::Pass`] if `ok`, else [`Verdict::Fail`].
    pub const fn pass_if(ok: bool) -> Self {
        if ok { Self::Pass } else { Self::Fail }
    }

    /// Returns the verdict as one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Listed => "listed",
        }
    }

    /// Returns the verdict in Markdown, failures in bold.
    pub const fn markdown(self) -> &'static str {
        match self {
            Self::Fail => "**fail**",
            Self::Pass | Self::Listed => self.as_str(),
        }
    }
}
