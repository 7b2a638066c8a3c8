//! Swarms that ran out without having ended: counted in the store, so that whoever serves it knows of them.

use std::time::Duration;

use super::error::OpError;
use super::{Inner, Swarms};
use crate::scripts;

/// Swarms that ran out without having ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// How many, as all keepers counted them. It begins anew when there was none for seven days.
    pub count: u64,
    /// How long ago the last one was found, by the server's clock.
    pub ago: Option<Duration>,
}

impl Swarms {
    /// Swarms that ran out without having ended, whoever found them.
    pub async fn lost(&self) -> Result<Lost, OpError> {
        let Inner { monitor, keyspace, .. } = &*self.0;
        let expired = keyspace.expired();
        let told: Option<Vec<String>> = monitor.call(scripts::ReadExpired { expired: &expired }).await?;
        let number = |told: &[String], at: usize| told.get(at).and_then(|text| text.parse().ok());
        let Some(told) = told else { return Ok(Lost::default()) };
        Ok(Lost {
            count: number(&told, 0).unwrap_or_default(),
            ago: number(&told, 1).map(Duration::from_millis),
        })
    }

    pub(super) async fn count_lost(&self, more: u64) -> Result<(), OpError> {
        let Inner { janitor, keyspace, .. } = &*self.0;
        let expired = keyspace.expired();
        let call = scripts::CountExpired { expired: &expired, more: more.into() };
        janitor.call::<u64>(call).await?;
        Ok(())
    }
}
