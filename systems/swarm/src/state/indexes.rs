//! The indexes that find swarms: by activity, by status, by role, by performance.
//!
//! They lie on other slots than the swarms and follow them through an outbox per swarm ([`keyplane_kit::index`]).
//!
//! # What it promises
//! - **At rest each is what a rebuild would give.** [`feed`](Swarms::feed) applies what a swarm has noted, each note once.
//! - **Absent is never none.** An index that has run out is rebuilt before it is read or fed.
//! - [`reconcile`](Swarms::reconcile) removes swarms that are gone, with what is kept about them, renews the 300 s, and lists
//!   swarms where they belong that somebody has written past the indexes.
//! - **A swarm that ran out is told of once**, whoever finds it: by the index of the active, or, where that has run out too, by the
//!   checkpoints that outlive it. What was never a swarm is not told of.
//! - **No scan**, but for a rebuild while a status index is absent as well: the status indexes together list every swarm.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use keyplane_key::{Hash, Key, Stream};
use keyplane_kit::SetupError;
use keyplane_kit::index::{DrainError, Index, Mark, Rebuild, drain_to};
use keyplane_kit::rfc3339;
use keyplane_store::{Error, Handle};

use super::error::OpError;
use super::lost::Seen;
use super::{Inner, MOST_TRIES, Swarms};
use crate::keys::{self, Keyspace, Role, Status, SwarmId, Window};
use crate::scripts;

/// The members of an index, with their scores where it has any.
pub(super) type Members = BTreeMap<SwarmId, f64>;

/// All indexes over swarms.
#[derive(Debug)]
pub(super) struct Indexes {
    janitor: Handle,
    keyspace: Keyspace,
    active: Arc<Index>,
    statuses: Vec<(Status, Arc<Index>)>,
    windows: Vec<(Window, Arc<Index>)>,
    /// Roles are open words: those that were seen so far.
    roles: Mutex<BTreeMap<Role, Arc<Index>>>,
    /// One rebuild at a time: two would overtake each other.
    rebuilding: tokio::sync::Mutex<()>,
}

/// What a reconcile of all indexes did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconciled {
    /// Members removed, because their swarms are gone.
    pub removed: u64,
    /// Swarms that were active and are gone: they ran out without having ended.
    pub expired: u64,
    /// Indexes that had run out and were rebuilt.
    pub rebuilt: u64,
    /// Swarms that were listed otherwise than they say: somebody has written them by hand.
    pub corrected: u64,
}

/// Where a swarm belongs, as its own keys say.
#[derive(Debug)]
struct Belongs {
    status: Option<Status>,
    second: f64,
    roles: BTreeSet<Role>,
    scores: BTreeMap<Window, f64>,
}

impl Indexes {
    pub(super) fn new(janitor: &Handle, keyspace: &Keyspace) -> Result<Self, SetupError> {
        let status =
            |status: &Status| Ok((*status, Arc::new(Index::plain(janitor, keyspace.index_status(*status))?)));
        let window = |window: &Window| {
            Ok((*window, Arc::new(Index::sorted(janitor, keyspace.index_performance(*window))?)))
        };
        Ok(Self {
            active: Arc::new(Index::sorted(janitor, keyspace.index_active())?),
            statuses: Status::ALL.iter().map(status).collect::<Result<_, SetupError>>()?,
            windows: Window::ALL.iter().map(window).collect::<Result<_, SetupError>>()?,
            roles: Mutex::default(),
            rebuilding: tokio::sync::Mutex::default(),
            janitor: janitor.clone(),
            keyspace: keyspace.clone(),
        })
    }

    pub(super) fn active(&self) -> &Arc<Index> {
        &self.active
    }

    pub(super) fn status(&self, status: Status) -> &Arc<Index> {
        // All of them are there.
        self.statuses.iter().find(|(known, _)| *known == status).map_or(&self.active, |(_, index)| index)
    }

    pub(super) fn window(&self, window: Window) -> &Arc<Index> {
        self.windows.iter().find(|(known, _)| *known == window).map_or(&self.active, |(_, index)| index)
    }

    pub(super) fn role(&self, role: &Role) -> Result<Arc<Index>, SetupError> {
        let mut roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = roles.get(role) {
            return Ok(Arc::clone(known));
        }
        let index = Arc::new(Index::plain(&self.janitor, self.keyspace.index_agents(role))?);
        roles.insert(role.clone(), Arc::clone(&index));
        Ok(index)
    }

    /// The index of that key; `None` if it is none of these.
    fn find(&self, name: &str) -> Result<Option<Arc<Index>>, SetupError> {
        let fixed = self.fixed().find(|index| index.key() == name).map(Arc::clone);
        match (fixed, self.role_of(name)) {
            (Some(index), _) => Ok(Some(index)),
            (None, Some(role)) => self.role(&role).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The role whose index has that key.
    fn role_of(&self, name: &str) -> Option<Role> {
        let some = Role::new("coder").ok()?;
        let key = self.keyspace.index_agents(&some);
        let (before, after) = key.as_str().rsplit_once(some.as_str())?;
        Role::new(name.strip_prefix(before)?.strip_suffix(after)?).ok()
    }

    fn fixed(&self) -> impl Iterator<Item = &Arc<Index>> {
        let windows = self.windows.iter().map(|(_, index)| index);
        std::iter::once(&self.active).chain(self.statuses.iter().map(|(_, index)| index)).chain(windows)
    }

    /// All that are known here.
    fn all(&self) -> Vec<Arc<Index>> {
        let roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
        self.fixed().chain(roles.values()).map(Arc::clone).collect()
    }

    pub(super) fn known_roles(&self) -> Vec<Role> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// The header that a member stands for. Not marked as one of an old shape: only what is kept about it is removed.
    pub(super) fn header(&self, swarm: &SwarmId) -> Key<Hash> {
        Key::new(&keys::info::SWARM, self.keyspace.swarm(swarm).as_str().to_owned())
    }
}

impl Swarms {
    /// Applies what a swarm has noted for the indexes: how many notes. Anybody may, at any time, several at once.
    pub async fn feed(&self, swarm: &SwarmId) -> Result<u64, OpError> {
        let Inner { indexes, janitor, .. } = &*self.0;
        let (header, mut notes) = (indexes.header(swarm), 0);
        for _ in 0..MOST_TRIES {
            let drained = drain_to(janitor, &header, |name| indexes.find(name)).await?;
            notes += drained.notes;
            if drained.absent.is_empty() {
                return Ok(notes);
            }
            for name in &drained.absent {
                if let Some(index) = indexes.find(name).map_err(DrainError::from)? {
                    self.rebuild(&index).await?;
                }
            }
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// The members of an index, which is rebuilt first if it is absent.
    pub(super) async fn members(&self, index: &Arc<Index>) -> Result<Members, OpError> {
        for _ in 0..MOST_TRIES {
            if let Some(members) = members(index).await? {
                return Ok(members);
            }
            self.rebuild(index).await?;
        }
        Err(OpError::Contended { times: MOST_TRIES })
    }

    /// How many indexes were rebuilt through this process. Where a keeper runs, that is not often.
    #[must_use]
    pub fn rebuilt(&self) -> u64 {
        self.0.indexes.all().iter().map(|index| index.counters().rebuilt.get()).sum()
    }

    /// Removes swarms that are gone from all indexes, with what is kept about them, and renews these. One that is absent is
    /// rebuilt, and one that differs from the swarms is corrected.
    pub async fn reconcile(&self) -> Result<Reconciled, OpError> {
        let Inner { indexes, .. } = &*self.0;
        let mut done = Reconciled::default();
        self.forget_locks().await?;
        let unsaved = self.count_gone(&mut done).await?;
        for index in indexes.all() {
            let record_of = |member: &[u8]| {
                let id = std::str::from_utf8(member).ok()?;
                Some(indexes.header(&SwarmId::from_store(id).ok()?))
            };
            match index.reconcile(&keys::info::SWARM, record_of).await? {
                Some(reconciled) => {
                    done.removed += reconciled.removed;
                    // Whoever ends leaves this one.
                    if Arc::ptr_eq(&index, indexes.active()) {
                        let lost = unsaved.min(reconciled.removed);
                        self.count_lost(lost, None).await?;
                        done.expired += lost;
                    }
                }
                None => done.rebuilt += u64::from(self.rebuild(&index).await?),
            }
        }
        done.corrected = self.correct().await?;
        Ok(done)
    }

    /// Counts those of the active that are gone and were saved. How many others are gone of which there is a trace: what somebody has
    /// only typed into the index was no swarm.
    async fn count_gone(&self, done: &mut Reconciled) -> Result<u64, OpError> {
        let Inner { indexes, janitor, keyspace, .. } = &*self.0;
        let Some(active) = members(indexes.active()).await? else { return Ok(0) };
        let active: Vec<SwarmId> = active.into_keys().collect();
        let alive = janitor.run_all(active.iter().map(|swarm| indexes.header(swarm).exists())).await?;
        let gone: Vec<SwarmId> =
            active.into_iter().zip(alive).filter(|(_, alive)| !alive).map(|(swarm, _)| swarm).collect();
        if gone.is_empty() {
            return Ok(0);
        }
        let (statuses, mut unsaved) = (self.listed().await?.unwrap_or_default(), 0);
        for swarm in gone {
            let is_counted = match swarm.is_legacy() {
                true => None,
                false => self.count_if_lost(&swarm, Seen::Active).await?,
            };
            if let Some(is_counted) = is_counted {
                done.expired += u64::from(is_counted);
                continue;
            }
            let has_outbox = async {
                // Ids of an old shape have none.
                let outbox = indexes.header(&swarm).helper::<Stream>("outbox", "outbox");
                match outbox {
                    Some(outbox) => janitor.run(outbox.exists()).await,
                    None => Ok(false),
                }
            };
            let is_saved = janitor.run(keyspace.checkpoints(&swarm).exists()).await?;
            unsaved += u64::from(is_saved || statuses.contains(&swarm) || has_outbox.await?);
        }
        Ok(unsaved)
    }

    /// Removes the locks' helper keys of swarms that ran out: they have no end of their own.
    async fn forget_locks(&self) -> Result<(), OpError> {
        let Inner { indexes, janitor, .. } = &*self.0;
        let Some(swarms) = self.listed().await? else { return Ok(()) };
        let swarms: Vec<SwarmId> = swarms.into_iter().collect();
        let alive = janitor.run_all(swarms.iter().map(|swarm| indexes.header(swarm).exists())).await?;
        for (swarm, _) in swarms.iter().zip(alive).filter(|(swarm, alive)| !alive && !swarm.is_legacy()) {
            self.forget_lock(swarm).await?;
        }
        Ok(())
    }

    pub(super) async fn forget_lock(&self, swarm: &SwarmId) -> Result<(), OpError> {
        let names = self.names(swarm)?;
        let helper = |role| names.lock.helper("lease", role).ok_or(OpError::NoLock);
        let lock_wake = names.lock.helper("lease", "wake").ok_or(OpError::NoLock)?;
        let call = scripts::ForgetLock {
            swarm: &names.swarm,
            lock: &names.lock,
            lock_fence: &names.lock_fence,
            lock_transitions: &helper("transitions")?,
            lock_wake: &lock_wake,
        };
        Ok(self.0.janitor.call::<()>(call).await?)
    }

    /// Builds an absent index from the swarms themselves, and with it all others that are absent. Whether it did: another may
    /// have been faster.
    async fn rebuild(&self, wanted: &Arc<Index>) -> Result<bool, OpError> {
        let Inner { indexes, .. } = &*self.0;
        let _alone = indexes.rebuilding.lock().await;
        if wanted.members(0, 0).await?.is_some() {
            return Ok(false);
        }
        let (listed, mut absent) = (self.listed().await?, Vec::new());
        for index in indexes.all() {
            if index.members(0, 0).await?.is_none() {
                absent.push(index);
            }
        }
        let mut rebuilds = Vec::new();
        for index in &absent {
            rebuilds.push((index, index.rebuild().await?));
        }
        let (swarms, saved) = match listed {
            Some(swarms) => (swarms, BTreeSet::new()),
            None => self.scanned().await?,
        };
        for swarm in &swarms {
            let mark = indexes.active.mark(&indexes.header(swarm)).await?;
            if let Some(belongs) = self.belongs(swarm).await? {
                admit(&rebuilds, indexes, &mark, swarm, &belongs).await?;
            }
        }
        // No index has outlived them: who looks at all keys is the one to tell of them.
        for swarm in saved.difference(&swarms).filter(|swarm| !swarm.is_legacy()) {
            self.count_if_lost(swarm, Seen::Saved).await?;
        }
        let mut is_built = false;
        for (index, rebuild) in rebuilds {
            let finished = rebuild.finish().await?;
            is_built |= finished && Arc::ptr_eq(index, wanted);
        }
        Ok(is_built)
    }

    /// All swarms, by the status indexes; `None` if one of these is absent.
    async fn listed(&self) -> Result<Option<BTreeSet<SwarmId>>, Error> {
        let mut listed = BTreeSet::new();
        for (_, index) in &self.0.indexes.statuses {
            let Some(some) = members(index).await? else { return Ok(None) };
            listed.extend(some.into_keys());
        }
        Ok(Some(listed))
    }

    /// All swarms, by their headers, and all of which there are checkpoints. It looks at every key of the store.
    async fn scanned(&self) -> Result<(BTreeSet<SwarmId>, BTreeSet<SwarmId>), OpError> {
        let Inner { janitor, keyspace, .. } = &*self.0;
        let some = SwarmId::new("swarm_00000000").map_err(|error| OpError::Unreadable(error.to_string()))?;
        let (header, list) = (keyspace.swarm(&some), keyspace.checkpoints(&some));
        let around = |key: &str| match key.rsplit_once(some.as_str()) {
            Some((before, after)) => Ok((before.to_owned(), after.to_owned())),
            None => Err(OpError::Unreadable(key.to_owned())),
        };
        let (header, list) = (around(header.as_str())?, around(list.as_str())?);
        let id = |key: &[u8], (before, after): &(String, String)| {
            let id = std::str::from_utf8(key).ok()?.strip_prefix(before)?.strip_suffix(after)?;
            SwarmId::from_store(id).ok()
        };
        let (mut pages, mut found, mut saved) = (janitor.scan(&header.0), BTreeSet::new(), BTreeSet::new());
        while let Some(page) = pages.next().await? {
            found.extend(page.iter().filter_map(|key| id(key, &header)));
            saved.extend(page.iter().filter_map(|key| id(key, &list)));
        }
        Ok((found, saved))
    }

    /// Where a swarm belongs; `None` if it is gone.
    async fn belongs(&self, swarm: &SwarmId) -> Result<Option<Belongs>, OpError> {
        let names = self.names(swarm)?;
        let fields = ["status", "updatedAt"];
        let header: Vec<Option<String>> = self.0.janitor.run(names.swarm.hmget(fields).reading()).await?;
        let Some(Some(status)) = header.first() else { return Ok(None) };
        let micros = header.get(1).and_then(|text| rfc3339(text.as_deref()?)).unwrap_or_default();
        let children = self.children(swarm, &names).await?;
        let mut scores = BTreeMap::new();
        for (field, value) in self.current_values(swarm).await? {
            let window = field.strip_prefix("score:").and_then(|window| window.parse().ok());
            scores.extend(window.map(|window: Window| (window, value)));
        }
        Ok(Some(Belongs {
            status: status.parse().ok(),
            second: micros.div_euclid(1_000_000) as f64,
            roles: children.roles,
            scores,
        }))
    }
}

/// Puts a swarm into those of the new indexes where it belongs.
async fn admit(
    rebuilds: &[(&Arc<Index>, Rebuild<'_>)],
    indexes: &Indexes,
    mark: &Mark,
    swarm: &SwarmId,
    belongs: &Belongs,
) -> Result<(), Error> {
    let is_over = matches!(belongs.status, Some(Status::Completed | Status::Failed));
    for (index, rebuild) in rebuilds {
        let status = indexes.statuses.iter().find(|(_, known)| Arc::ptr_eq(known, index));
        let window = indexes.windows.iter().find(|(_, known)| Arc::ptr_eq(known, index));
        let score = match (status, window) {
            (Some((status, _)), _) => (belongs.status == Some(*status)).then_some(0.0),
            (_, Some((window, _))) => belongs.scores.get(window).copied(),
            _ if Arc::ptr_eq(index, &indexes.active) => (!is_over).then_some(belongs.second),
            _ => indexes.role_of(index.key()).filter(|role| belongs.roles.contains(role)).map(|_| 0.0),
        };
        if let Some(score) = score {
            // Overtaken: then another process builds this one.
            rebuild.admit(mark, swarm.as_str().as_bytes(), score).await?;
        }
    }
    Ok(())
}

/// `None`: it must be rebuilt.
async fn members(index: &Index) -> Result<Option<Members>, Error> {
    let Some(found) = index.members(0, -1).await? else { return Ok(None) };
    let id = |member: Vec<u8>| SwarmId::from_store(String::from_utf8(member).ok()?).ok();
    Ok(Some(found.into_iter().filter_map(|(member, score)| Some((id(member)?, score))).collect()))
}
