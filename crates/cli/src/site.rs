//! Where a system's keys are: its store and the names of its keys, by its settings.

use keyplane_config::{Config, HashTags, Section, Source};
use keyplane_key::Naming;
use keyplane_store::Store;

use crate::args::{Given, Whose};
use crate::outcome::{Failure, Kind};
use crate::settings;

/// A system's place.
pub(crate) struct Site {
    pub(crate) store: Store,
    pub(crate) naming: Naming,
    /// All settings, for what else the system has.
    pub(crate) config: Config,
}

impl Site {
    /// The store that the settings name; `otherwise` if they name none.
    pub(crate) async fn of(
        section: Section,
        given: &Given,
        otherwise: Option<&str>,
    ) -> Result<Self, Failure> {
        let system = section.word();
        let target = settings::target(&Whose { system: Some(system.to_owned()) }, given)?;
        let config = settings::load(given).map_err(|error| settings::first_of(&error))?;
        let own = config.section(section).store().map_err(|error| settings::first_of(&error))?;
        let url = match otherwise {
            Some(url) if target.url_source == Source::Default => {
                url.parse().map_err(|error| Failure::new(format!("{url}: {error}")))?
            }
            _ => target.url,
        };
        let shown = url.to_string();
        let store = Store::connect(url, target.options).await.map_err(|error| {
            Failure::new(format!("cannot open the store {shown}: {error}"))
                .of(Kind::Unreachable)
                .help(more(section))
        })?;
        let hash_tags = match own.hash_tags {
            HashTags::On => true,
            HashTags::Off => false,
            _ => store.is_cluster(),
        };
        let naming = Naming::new(own.namespace, hash_tags)
            .map_err(|error| Failure::new(format!("the namespace cannot be used: {error}")))?;
        Ok(Self { store, naming, config })
    }
}

/// Where to look when the store of that system is away.
pub(crate) fn more(section: Section) -> String {
    format!("keyplane doctor --system {} says more", section.word())
}
