//! The depot: typed keys and operations from its contract.

use std::collections::HashMap;
use std::time::Duration;

use keyplane_key::Naming;
use keyplane_store::{Handle, HandleError, Store};

mod keys {
    #![allow(missing_docs, unreachable_pub, dead_code, reason = "generated: the demo uses some of it")]
    keyplane_macros::keyspace!("src/demo/keys.toml");
}

mod scripts {
    #![allow(missing_docs, unreachable_pub, dead_code, reason = "generated: the demo uses some of it")]
    keyplane_macros::scripts!("src/demo/keys.toml", "src/demo/scripts");
}

use keys::{Courier, Keyspace, Parcel, Town};

/// The contract on a store, as each of its components.
pub(super) struct Depot {
    desk: Handle,
    courier: Handle,
    board: Handle,
    keys: Keyspace,
    town: Town,
}

/// A write that was wrong.
pub(super) struct Refused {
    pub(super) what: &'static str,
    pub(super) why: String,
}

/// A parcel on the board.
pub(super) struct Shown {
    pub(super) key: String,
    pub(super) state: String,
    pub(super) to: String,
    pub(super) left: Duration,
}

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long a parcel lives untouched, as its contract says.
pub(super) const PARCEL_LIVES: Duration = Duration::from_secs(6);

impl Depot {
    pub(super) fn open(store: &Store) -> Result<Self, Error> {
        let contract = keyplane_store::contract(Keyspace::SOURCE)?;
        let open = |component: &str| -> Result<Handle, HandleError> {
            store.as_component(&contract, component, &HashMap::new())
        };
        Ok(Self {
            desk: open("desk")?,
            courier: open("courier")?,
            board: open("board")?,
            keys: Keyspace::new(Naming::new("depot", false)?)?,
            town: Town::new("bern")?,
        })
    }

    /// A new parcel, which waits; its key.
    pub(super) async fn bring(&self, number: &str, to: &str) -> Result<String, Error> {
        let parcel = Parcel::new(number)?;
        let key = self.keys.parcel(&self.town, &parcel);
        self.desk.run(key.hset([("state", "waiting"), ("to", to)])).await?;
        self.desk.run(self.keys.waiting(&self.town).rpush(number)).await?;
        Ok(key.to_string())
    }

    /// How much longer a key lives.
    pub(super) async fn time_left(&self, key: &str) -> Result<Duration, Error> {
        let number = key.rsplit(':').next().unwrap_or_default();
        let key = self.keys.parcel(&self.town, &Parcel::new(number)?);
        let left = self.board.run(key.pttl()).await?;
        Ok(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    /// A courier takes the next parcel, and it is on the road; how many that makes.
    pub(super) async fn take(&self, courier: &str) -> Result<Option<(String, u64)>, Error> {
        let (waiting, courier) = (self.keys.waiting(&self.town), Courier::new(courier)?);
        let carried = self.keys.carried(&self.town, &courier);
        let taken: Option<String> =
            self.courier.call(scripts::Take { waiting: &waiting, carried: &carried }).await?;
        let Some(number) = taken else { return Ok(None) };
        let key = self.keys.parcel(&self.town, &Parcel::new(&number)?);
        self.courier.run(key.hset([("state", "on the road"), ("by", courier.as_str())])).await?;
        let count = self.board.run(carried.get()).await?;
        let count = count.and_then(|text| String::from_utf8(text).ok()?.parse().ok()).unwrap_or(0);
        Ok(Some((number, count)))
    }

    /// Three writes that the contract does not allow.
    pub(super) async fn wrong_writes(&self) -> Vec<Refused> {
        let mut refused = Vec::new();
        if let Err(error) = Parcel::new("17") {
            refused.push(Refused { what: "Parcel::new(\"17\")", why: error.to_string() });
        }
        let Ok(parcel) = Parcel::new("p1") else { return refused };
        let key = self.keys.parcel(&self.town, &parcel);
        if let Err(error) = self.board.run(key.hset([("state", "waiting")])).await {
            refused.push(Refused { what: "board.run(parcel.hset(…))", why: error.cause().to_string() });
        }
        let fields = [("state", "waiting"), ("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")];
        if let Err(error) = self.desk.run(key.hset(fields)).await {
            refused
                .push(Refused { what: "desk.run(parcel.hset(five fields))", why: error.cause().to_string() });
        }
        refused
    }

    /// What there is of these parcels.
    pub(super) async fn look(&self, numbers: impl Iterator<Item = u32>) -> Result<Vec<Shown>, Error> {
        let mut shown = Vec::new();
        for number in numbers {
            let key = self.keys.parcel(&self.town, &Parcel::new(format!("p{number}"))?);
            let left = self.board.run(key.pttl()).await?;
            let Ok(left) = u64::try_from(left) else { continue };
            let fields = self.board.run(key.hmget(["state", "to"])).await?;
            let mut texts = fields
                .into_iter()
                .map(|field| field.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default());
            shown.push(Shown {
                key: key.to_string(),
                state: texts.next().unwrap_or_default(),
                to: texts.next().unwrap_or_default(),
                left: Duration::from_millis(left),
            });
        }
        Ok(shown)
    }
}
