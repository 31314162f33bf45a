//! What the runs of a command leave beside their times.

use serde::{Deserialize, Serialize};

/// What the runs of a command leave: for a program whose iterations start processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Length and checksum of their output; [`VARYING`] unless all are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Names of processes that outlived their run, and were ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// True if the peak of a run may be that of the process which started it: the kernel hands that on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub peak_is_bound: bool,
}

/// Stands for outputs that are not equal.
pub const VARYING: &str = "varying";

impl Runs {
    /// These together with further ones.
    pub fn add(&mut self, further: Runs) {
        self.output = match (self.output.take(), further.output) {
            (Some(output), Some(other)) if output != other => Some(VARYING.to_owned()),
            (output, other) => output.or(other),
        };
        self.left = self.left.take().or(further.left);
        self.peak_is_bound |= further.peak_is_bound;
    }
}
