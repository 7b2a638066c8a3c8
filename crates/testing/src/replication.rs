//! Replicas that really have what their master has.

use std::time::Duration;

use crate::server::Server;
use crate::settings::Settings;

/// Longer than the second between two reports of a replica.
const PATIENCE: Duration = Duration::from_secs(3);

/// Settings under which a replica is in step soon after its start.
pub(crate) fn quick(settings: Settings) -> Settings {
    settings
        // Over a socket, a master waits five seconds for more replicas before it sends its data; and it may miss the
        // first report of a replica that is quick to load, and then sends nothing until the next one, a second later.
        .line("repl-diskless-sync no")
        .line("repl-ping-replica-period 1")
}

/// Whether that many replicas have all that this master has. A link that is up says less: see [`quick`].
pub(crate) fn in_step(master: &Server, replicas: usize) -> Result<(), String> {
    let ask = || -> redis::RedisResult<usize> {
        let mut connection = master.try_admin()?;
        connection.set_read_timeout(Some(PATIENCE))?;
        // WAIT counts from the connection's last command.
        redis::cmd("PING").exec(&mut connection)?;
        redis::cmd("WAIT").arg(replicas).arg(PATIENCE.as_millis() as u64 / 2).query(&mut connection)
    };
    let in_step = ask().map_err(|error| error.to_string())?;
    if in_step >= replicas { Ok(()) } else { Err(format!("{in_step} of {replicas} replicas are in step")) }
}
