//! What a system implements to be on the API.

use std::future::Future;
use std::pin::Pin;

use axum::Router;
use serde::Serialize;

use crate::metrics::Family;
use crate::operation::Operation;

/// What a panel gives later: a boxed future, so that panels of all systems fit into one list.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One system's part of the API.
///
/// Metrics, alerts and readiness are asked of all panels at once, each in a task of its own and with a limit
/// ([`Options::panel_within`](crate::Options::panel_within)): a panel that hangs or panics does not hide the others.
pub trait Panel: Send + Sync + 'static {
    /// The name of the system, unique among panels.
    fn name(&self) -> &'static str;

    /// Its routes, with their state inside. Paths are whole, such as `/api/tx/{hash}`; a fallback is dropped.
    fn routes(&self) -> Router;

    /// The same routes in words, for the OpenAPI document.
    fn operations(&self) -> Vec<Operation>;

    /// What it measures now.
    fn metrics(&self) -> Later<'_, Vec<Family>> {
        Box::pin(async { Vec::new() })
    }

    /// Everything that can be wrong with it, and whether it is now.
    fn alerts(&self) -> Later<'_, Vec<Alert>> {
        Box::pin(async { Vec::new() })
    }

    /// Whether requests make sense yet; if not, why. Anyone may read the reason.
    fn ready(&self) -> Later<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

/// Something that can be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Alert {
    /// What, as a word that stays, such as `queue_stalled`.
    pub name: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is the case, and what to do while it fires.
    pub message: String,
    /// Whether it is so now.
    pub firing: bool,
}

impl Alert {
    /// Somebody should be woken.
    pub fn page(name: impl Into<String>, firing: bool, message: impl Into<String>) -> Self {
        Self { name: name.into(), severity: Severity::Page, message: message.into(), firing }
    }

    /// Somebody should look in the morning.
    pub fn warn(name: impl Into<String>, firing: bool, message: impl Into<String>) -> Self {
        Self { name: name.into(), severity: Severity::Warn, message: message.into(), firing }
    }
}

/// How much an alert matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Wake somebody.
    Page,
    /// Look in the morning.
    Warn,
}
