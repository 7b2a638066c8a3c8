//! How a server is started.

use crate::tls::ClientCertificates;

/// How a server is started: where it listens, who may enter, what else its configuration says.
///
/// ```
/// use keyplane_testing::Settings;
/// let settings = Settings::tcp().password("secret").line("maxmemory-policy noeviction").maxmemory("8mb");
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) listen: Listen,
    pub(crate) role: Role,
    pub(crate) password: Option<String>,
    pub(crate) users: Vec<String>,
    pub(crate) lines: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listen {
    Tcp,
    Unix,
    Tls(ClientCertificates),
}

/// What the process is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Standalone,
    ClusterNode,
    Sentinel,
}

/// Where ACL users are set, the default user may be off; this one always gets in.
pub(crate) const ADMIN: &str = "test-admin";

impl Settings {
    /// On a free loopback port.
    #[must_use]
    pub fn tcp() -> Self {
        Self::listening(Listen::Tcp)
    }

    /// On a Unix socket.
    #[must_use]
    pub fn unix() -> Self {
        Self::listening(Listen::Unix)
    }

    /// On a free loopback port with TLS, as `localhost`.
    #[must_use]
    pub fn tls(clients: ClientCertificates) -> Self {
        Self::listening(Listen::Tls(clients))
    }

    fn listening(listen: Listen) -> Self {
        Self { listen, role: Role::Standalone, password: None, users: Vec::new(), lines: Vec::new() }
    }

    pub(crate) fn role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// `requirepass`.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// An ACL user, as behind `ACL SETUSER`: `clerk on >pw ~shop:* +@all`.
    #[must_use]
    pub fn user(mut self, rules: &str) -> Self {
        self.users.push(rules.to_owned());
        self
    }

    /// A line of the configuration file.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// `maxmemory`, such as `8mb`.
    #[must_use]
    pub fn maxmemory(self, limit: &str) -> Self {
        self.line(&format!("maxmemory {limit}"))
    }

    /// Every write reaches the append-only file before its answer, so that a restart loses nothing.
    #[must_use]
    pub fn appendonly(self) -> Self {
        self.line("appendonly yes").line("appendfsync always")
    }

    /// Who may enter, as lines of the configuration file.
    pub(crate) fn access_lines(&self) -> Vec<String> {
        let password = self.password.iter().map(|password| format!("requirepass {password}"));
        let users = self.users.iter().map(|rules| format!("user {rules}"));
        let admin = (!self.users.is_empty()).then(|| format!("user {ADMIN} on nopass ~* &* +@all"));
        password.chain(users).chain(admin).collect()
    }
}
