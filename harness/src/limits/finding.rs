//! What is known of one limit: that it binds, that it does not, or why nothing is known.

use serde::Serialize;

use super::Resource;
use super::limit::Limit;

/// A limit of this system as it was found, whether it binds this process or not.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Its name as people know it.
    pub name: String,
    /// The file that it is read from.
    pub source: String,
    /// What it bounds.
    pub resource: Resource,
    /// Its value, in counts or in bytes; null where none is set or none can be read.
    pub value: Option<u64>,
    /// What is in use of it; null where that is not known or does not matter.
    pub in_use: Option<u64>,
    /// Whether it binds this process.
    pub standing: Standing,
    /// Why it does not bind or is not known, or what else a reader should know of it.
    pub remark: Option<String>,
    #[serde(skip)]
    pub(super) limit: Option<Limit>,
}

/// Whether a limit binds this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// No more than its value may be in use.
    Binds,
    /// Past its value nothing fails, but what is made is smaller.
    Shrinks,
    /// None is set, or this process may pass it.
    Free,
    /// It cannot be read.
    Unknown,
}

/// A number that was read, or why it was not.
pub(super) type Found = Result<u64, String>;

impl Finding {
    /// A limit that binds.
    pub(super) fn binds(limit: Limit) -> Finding {
        Finding {
            name: limit.name.clone(),
            source: limit.source.clone(),
            resource: limit.resource,
            value: Some(limit.value),
            in_use: Some(limit.in_use).filter(|_| !limit.hidden),
            standing: Standing::Binds,
            remark: None,
            limit: Some(limit),
        }
    }

    /// A limit that does not bind, with its value where one is set.
    pub(super) fn free(
        name: &str,
        source: &str,
        resource: Resource,
        value: Option<u64>,
        why: impl Into<String>,
    ) -> Finding {
        Finding {
            name: name.to_owned(),
            source: source.to_owned(),
            resource,
            value,
            in_use: None,
            standing: Standing::Free,
            remark: Some(why.into()),
            limit: None,
        }
    }

    /// A limit of which nothing is known.
    pub(super) fn unknown(
        name: &str,
        source: &str,
        resource: Resource,
        why: impl Into<String>,
    ) -> Finding {
        Finding {
            standing: Standing::Unknown,
            ..Finding::free(name, source, resource, None, why)
        }
    }

    /// The same with a remark.
    pub(super) fn remarked(self, remark: impl Into<String>) -> Finding {
        Finding {
            remark: Some(remark.into()),
            ..self
        }
    }

    /// The same limit as one past which nothing fails.
    pub(super) fn shrinks(self) -> Finding {
        Finding {
            standing: Standing::Shrinks,
            ..self
        }
    }

    /// What is to be compared with a demand; `None` where nothing is to be.
    pub fn limit(&self) -> Option<&Limit> {
        self.limit.as_ref()
    }
}
