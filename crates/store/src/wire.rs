//! One connection. The only file that knows the `redis` crate: its next major version is a change here.
//!
//! RESP3, TCP_NODELAY on (the crate's default is off), no timeouts of the crate's own: deadlines are ours.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Once};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    Arg, AsyncConnectionConfig, Client, ClientTlsConfig, Cmd, ConnectionAddr, IntoConnectionInfo, Pipeline,
    ProtocolVersion, PushKind, RedisConnectionInfo, RedisError, TlsCertificates, Value,
};

use crate::dial::Dialer;
#[cfg(feature = "embedded")]
use crate::embedded::{Embedded, Entered, Local};
use crate::reply::{Reply, ServerError};
use crate::{Options, Tls};
use keyplane_url::Address;

/// What every connection of a store has in common.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    login: RedisConnectionInfo,
    tcp: TcpSettings,
    tls: Option<TlsCertificates>,
    connect_timeout: Duration,
    dialer: Option<Dialer>,
    #[cfg(feature = "embedded")]
    embedded: Embedded,
}

/// Why a connection could not be made, or was lost.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum WireError {
    /// The server let us in and refused us: a wrong password, a missing certificate. Trying again does not help.
    #[error("{0}")]
    Refused(String),
    /// The network.
    #[error("{0}")]
    Broken(String),
}

impl Session {
    pub(crate) fn new(options: &Options, tls: bool, db: u32) -> Result<Self, TlsError> {
        let mut login = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            // CLIENT SETINFO came with 7.2, and no component is granted it.
            .set_skip_set_lib_name()
            .set_db(i64::from(db));
        if let Some(user) = &options.user {
            login = login.set_username(user);
        }
        if let Some(password) = &options.password {
            login = login.set_password(password.reveal());
        }
        let mut tcp = TcpSettings::default().set_nodelay(true);
        if let Some(idle) = options.keepalive {
            tcp = tcp.set_keepalive(socket2::TcpKeepalive::new().with_time(idle).with_interval(idle / 3));
        }
        let tls = if tls { Some(certificates(&options.tls)?) } else { None };
        Ok(Self {
            login,
            tcp,
            tls,
            connect_timeout: options.connect_timeout,
            dialer: None,
            #[cfg(feature = "embedded")]
            embedded: Embedded::new(options.fsync),
        })
    }

    /// By way of this, where the address is a host and a port.
    pub(crate) fn through(self, dialer: Option<Dialer>) -> Self {
        Self { dialer, ..self }
    }

    /// On an engine that somebody else has started.
    #[cfg(feature = "embedded")]
    pub(crate) fn on_engine(self, live: keyplane_engine::live::Live) -> Self {
        Self { embedded: Embedded::on(live), ..self }
    }

    /// For sentinels: the same way in, no database, no user of the data servers.
    pub(crate) fn of_sentinels(&self) -> Self {
        let login =
            RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
        Self { login, ..self.clone() }
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn embedded(&self) -> &Embedded {
        &self.embedded
    }

    async fn dial(
        &self,
        address: &Address,
        config: AsyncConnectionConfig,
    ) -> Result<MultiplexedConnection, WireError> {
        let (Some(dialer), Address::Tcp(host, port)) = (&self.dialer, address) else {
            let client = self.client(address).map_err(|error| refused(&error))?;
            let connecting = client.get_multiplexed_async_connection_with_config(&config);
            return connecting.await.map_err(|error| connect_error(&error));
        };
        let stream = dialer.dial(host, *port).await.map_err(|error| WireError::Broken(error.to_string()))?;
        let connecting = MultiplexedConnection::new_with_config(&self.login, stream, config);
        let (connection, driver) = connecting.await.map_err(|error| connect_error(&error))?;
        tokio::spawn(driver);
        Ok(connection)
    }

    fn client(&self, address: &Address) -> Result<Client, RedisError> {
        let address = match (address, &self.tls) {
            (Address::Unix(path), _) => ConnectionAddr::Unix(path.clone()),
            (Address::Embedded(_), _) => {
                return Err((redis::ErrorKind::InvalidClientConfig, "the embedded store is no server").into());
            }
            (Address::Tcp(host, port), None) => ConnectionAddr::Tcp(host.clone(), *port),
            (Address::Tcp(host, port), Some(_)) => {
                ConnectionAddr::TcpTls { host: host.clone(), port: *port, insecure: false, tls_params: None }
            }
        };
        let info = address
            .into_connection_info()?
            .set_redis_settings(self.login.clone())
            .set_tcp_settings(self.tcp.clone());
        match &self.tls {
            Some(certificates) => Client::build_with_tls(info, certificates.clone()),
            None => Client::open(info),
        }
    }
}

/// Why the files for TLS are of no use.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TlsError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {why}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        why: String,
    },
    /// The files do not make a certificate and key.
    #[error("the TLS files are of no use: {0}")]
    Useless(String),
}

fn certificates(tls: &Tls) -> Result<TlsCertificates, TlsError> {
    static PROVIDER: Once = Once::new();
    // rustls needs one for the process; a program that chose its own keeps it.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let read = |path: &Path| {
        fs::read(path)
            .map_err(|error| TlsError::File { path: path.display().to_string(), why: error.to_string() })
    };
    let root_cert = tls.ca.as_deref().map(read).transpose()?;
    let client_tls = match &tls.identity {
        Some((certificate, key)) => {
            Some(ClientTlsConfig { client_cert: read(certificate)?, client_key: read(key)? })
        }
        None => None,
    };
    let certificates = TlsCertificates { client_tls, root_cert };
    // Reads them once, so that a broken file is told when the store opens and not at each attempt to connect.
    let probe =
        ConnectionAddr::TcpTls { host: "localhost".into(), port: 1, insecure: false, tls_params: None };
    let info = probe.into_connection_info().map_err(|error| TlsError::Useless(error.to_string()))?;
    Client::build_with_tls(info, certificates.clone())
        .map_err(|error| TlsError::Useless(error.to_string()))?;
    Ok(certificates)
}

/// A command for the server.
#[derive(Debug, Clone)]
pub(crate) struct Request(Cmd);

impl Request {
    pub(crate) fn new(name: &str) -> Self {
        let mut command = Cmd::new();
        command.arg(name);
        Self(command)
    }

    /// With room for that many arguments and bytes.
    pub(crate) fn sized(name: &str, args: usize, bytes: usize) -> Self {
        let mut command = Cmd::with_capacity(args + 1, bytes + name.len());
        command.arg(name);
        Self(command)
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<[u8]>) -> Self {
        self.0.arg(arg.as_ref());
        self
    }

    pub(crate) fn push(&mut self, arg: &[u8]) {
        self.0.arg(arg);
    }

    /// Name and arguments.
    #[cfg(feature = "embedded")]
    pub(crate) fn args(&self) -> Vec<&[u8]> {
        args(&self.0)
    }

    /// A number, without a string of its own.
    pub(crate) fn push_number(&mut self, number: u64) {
        self.0.arg(number);
    }

    /// EVALSHA as EVAL, for a server that does not know the script.
    pub(crate) fn with_source(&self, source: &str) -> Self {
        let mut args = self.0.args_iter().filter_map(|arg| match arg {
            Arg::Simple(bytes) => Some(bytes),
            _ => None,
        });
        let read_only = args.next().is_some_and(|name| name.ends_with(b"_RO"));
        let mut request = Self::new(if read_only { "EVAL_RO" } else { "EVAL" }).arg(source);
        args.skip(1).for_each(|arg| request.push(arg));
        request
    }
}

/// A connection that several operations share; cheap to clone.
#[derive(Clone)]
pub(crate) enum Wire {
    Client(MultiplexedConnection),
    #[cfg(feature = "embedded")]
    Local(Arc<Local>),
}

#[cfg(feature = "embedded")]
fn args(command: &Cmd) -> Vec<&[u8]> {
    command
        .args_iter()
        .filter_map(|arg| match arg {
            Arg::Simple(bytes) => Some(bytes),
            _ => None,
        })
        .collect()
}

impl Wire {
    /// Connects and logs in. `on_loss` is called once when the connection ends, also when nobody is using it.
    pub(crate) async fn connect(
        address: &Address,
        session: &Session,
        on_loss: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, WireError> {
        #[cfg(feature = "embedded")]
        if let Address::Embedded(folder) = address {
            return match session.embedded.enter(folder.as_deref()).await? {
                Entered::Here(local) => Ok(Self::Local(Arc::new(local))),
                Entered::Socket(socket) => {
                    Self::connect_client(&Address::Unix(socket), session, on_loss).await
                }
            };
        }
        Self::connect_client(address, session, on_loss).await
    }

    async fn connect_client(
        address: &Address,
        session: &Session,
        on_loss: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, WireError> {
        let on_loss = Arc::new(on_loss);
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_push_sender(move |push: redis::PushInfo| {
                if push.kind == PushKind::Disconnection {
                    on_loss();
                }
                Ok::<(), std::convert::Infallible>(())
            });
        match tokio::time::timeout(session.connect_timeout, session.dial(address, config)).await {
            Ok(Ok(connection)) => Ok(Self::Client(connection)),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                Err(WireError::Broken(format!("no answer to the login within {:?}", session.connect_timeout)))
            }
        }
    }

    /// Sends one command. An error reply of the server is an answer, not an error.
    pub(crate) async fn send(&self, request: &Request) -> Result<Reply, WireError> {
        match self {
            Self::Client(connection) => answer(connection.clone().send_packed_command(&request.0).await),
            #[cfg(feature = "embedded")]
            Self::Local(local) => local.send(request).await,
        }
    }

    /// Sends several commands in one piece; one answer for each.
    pub(crate) async fn send_all(&self, batch: &Batch) -> Result<Vec<Reply>, WireError> {
        match self {
            Self::Client(connection) => {
                match connection.clone().send_packed_commands(&batch.0, 0, batch.0.len()).await {
                    Ok(values) => Ok(values.into_iter().map(Reply::from).collect()),
                    Err(error) => Err(broken(&error)),
                }
            }
            #[cfg(feature = "embedded")]
            Self::Local(local) => local.send_all(batch.0.cmd_iter().map(args)).await,
        }
    }
}

/// Several commands that are sent in one piece.
pub(crate) struct Batch(Pipeline);

impl Batch {
    pub(crate) fn new(requests: impl IntoIterator<Item = Request>) -> Self {
        let requests = requests.into_iter();
        let mut pipeline = Pipeline::with_capacity(requests.size_hint().0);
        for Request(command) in requests {
            pipeline.add_command(command);
        }
        Self(pipeline)
    }

    /// One of them, to be sent again by itself.
    pub(crate) fn request(&self, index: usize) -> Option<Request> {
        self.0.cmd_iter().nth(index).cloned().map(Request)
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

fn answer(result: Result<Value, RedisError>) -> Result<Reply, WireError> {
    match result {
        Ok(value) => Ok(Reply::from(value)),
        Err(error) => match redis::ServerError::try_from(error) {
            Ok(error) => Ok(Reply::Error(server_error(&error))),
            Err(error) => Err(broken(&error)),
        },
    }
}

fn connect_error(error: &RedisError) -> WireError {
    use redis::ErrorKind;
    match error.kind() {
        ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig | ErrorKind::RESP3NotSupported => {
            refused(error)
        }
        ErrorKind::Server(_) | ErrorKind::Extension if !is_passing(error) => refused(error),
        // TLS alerts come as I/O errors of the kind InvalidData: a certificate does not get better by waiting.
        ErrorKind::Io if is_tls_refusal(error) => refused(error),
        _ => broken(error),
    }
}

/// Errors of a server that is starting, changing roles, or has too many clients for the moment.
fn is_passing(error: &RedisError) -> bool {
    matches!(error.code(), Some("LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "BUSY" | "TRYAGAIN"))
        || error.detail().is_some_and(|detail| detail.contains("max number of clients"))
}

fn is_tls_refusal(error: &RedisError) -> bool {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = source {
        if one.downcast_ref::<rustls::Error>().is_some()
            || one
                .downcast_ref::<std::io::Error>()
                .is_some_and(|io| io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()))
        {
            return true;
        }
        source = one.source();
    }
    false
}

fn refused(error: &RedisError) -> WireError {
    WireError::Refused(error.to_string())
}

fn broken(error: &RedisError) -> WireError {
    WireError::Broken(error.to_string())
}

fn server_error(error: &redis::ServerError) -> ServerError {
    ServerError::new(error.code(), error.details().unwrap_or_default())
}

impl From<Value> for Reply {
    fn from(value: Value) -> Self {
        let all = |values: Vec<Value>| values.into_iter().map(Self::from).collect();
        let pairs = |pairs: Vec<(Value, Value)>| {
            pairs.into_iter().map(|(key, value)| (Self::from(key), Self::from(value))).collect()
        };
        match value {
            Value::Nil => Self::Nil,
            Value::Int(number) => Self::Int(number),
            Value::BulkString(bytes) => Self::Bytes(bytes),
            Value::Array(values) | Value::Set(values) | Value::Push { data: values, .. } => {
                Self::Array(all(values))
            }
            Value::SimpleString(text) => Self::Bytes(text.into_bytes()),
            Value::Okay => Self::Ok,
            Value::Map(values) => Self::Map(pairs(values)),
            Value::Attribute { data, .. } => Self::from(*data),
            Value::Double(number) => Self::Double(number),
            Value::Boolean(truth) => Self::Int(i64::from(truth)),
            Value::VerbatimString { text, .. } => Self::Bytes(text.into_bytes()),
            Value::BigNumber(digits) => Self::Bytes(digits),
            Value::ServerError(error) => Self::Error(server_error(&error)),
            // The crate's enum may grow; none of our commands is answered by what is not above.
            _ => Self::Nil,
        }
    }
}
