//! The gRPC door of `keyplane mempool run`, where it was built in.

use std::net::SocketAddr;

use keyplane_mempool::Pool;

use super::Site;
use crate::args::Serve;
use crate::outcome::Failure;

#[cfg(feature = "grpc")]
pub(super) struct Door(Option<keyplane_http::Server>);

#[cfg(feature = "grpc")]
impl Door {
    /// No door where no address is set.
    pub(super) async fn bind(serve: &Serve, site: &Site) -> Result<Self, Failure> {
        match serve.grpc.as_deref().or(site.own.grpc.as_deref()) {
            Some(address) => {
                Ok(Self(Some(crate::door::bind(address, site.own.token.as_ref()).await?.http2())))
            }
            None => Ok(Self(None)),
        }
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.0.as_ref().map(keyplane_http::Server::local_addr)
    }

    /// Until it is asked to stop.
    pub(super) async fn serve(self, pool: Pool) {
        if let Some(server) = self.0 {
            let routes = keyplane_mempool::api::Grpc::new(pool).routes();
            server.run(routes, crate::session::asked_to_stop()).await;
        }
    }
}

#[cfg(not(feature = "grpc"))]
pub(super) struct Door;

#[cfg(not(feature = "grpc"))]
impl Door {
    /// A door that was asked for and is not there would be looked for in vain.
    pub(super) async fn bind(_: &Serve, site: &Site) -> Result<Self, Failure> {
        match &site.own.grpc {
            Some(_) => {
                Err(Failure::new("the setting `grpc` of the mempool: this keyplane was built without gRPC")
                    .help("leave the setting out, or build with --features grpc"))
            }
            None => Ok(Self),
        }
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        None
    }

    pub(super) async fn serve(self, _: Pool) {}
}
