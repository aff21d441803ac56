//! What stands between the network and the bindings: each layer with its reason.

mod admit;
mod authenticate;
mod catch_panic;
mod heads;
mod hosts;
mod origins;
mod public;
mod quota;
mod trace;

use std::{convert::Infallible, pin::Pin, sync::Arc};

use admit::{Admit, AdmitLayer};
use authenticate::{Authenticate, AuthenticateLayer};
use catch_panic::{CatchPanic, CatchPanicLayer};
use heads::{Heads, HeadsLayer};
use hosts::{HostCheck, HostCheckLayer};
use http::{HeaderValue, Response};
use nuncio_auth::Authenticator;
use origins::{OriginCheck, OriginCheckLayer};
use public::{Public, PublicLayer};
use quota::{Quota, QuotaLayer};
use tower::{ServiceBuilder, util::Either};
use tower_http::cors::Cors;
use trace::{Trace, TraceLayer};

use crate::{binding::Bindings, body::Body, cors, service::Service};

pub(crate) use authenticate::Peer;

/// The layers around the bindings.
pub(crate) type Stack = CatchPanic<Trace<Heads<Either<Box<Cors<InnerStack>>, InnerStack>>>>;
type InnerStack = HostCheck<Public<Admit<Authenticate<OriginCheck<Quota<Bindings>>>>>>;

/// The result of each layer: a response, also for a refusal.
type LayerResult = Result<Response<Body>, Infallible>;
type BoxedResult = Pin<Box<dyn Future<Output = LayerResult> + Send>>;

/// Builds the stack. A request goes through it from the top, its response from the bottom.
///
/// What a layer refuses is refused in the shape of the request's binding. The body is read, with its limits of size and
/// time, by the bindings: gRPC's is not one document. So is the version, which a binding's envelope may tell.
pub(crate) fn stack(service: &Arc<Service>, authenticator: Arc<dyn Authenticator>, origins: &[HeaderValue]) -> Stack {
    ServiceBuilder::new()
        // A bug costs the caller one answer, and not the connection with all that goes over it.
        .layer(CatchPanicLayer(Arc::clone(service)))
        // Outside of all that can refuse, so that refusals are seen too.
        .layer(TraceLayer)
        // A head has its limit before anything is made of it; one that does not say for whom it is might be meant for
        // somebody else.
        .layer(HeadsLayer(Arc::clone(service)))
        // Browsers ask before they send anything, and without credentials.
        .option_layer((!origins.is_empty()).then(|| cors::layer(origins)))
        // A page in a browser can give its own name the address of this machine. The name in the request shows this.
        .layer(HostCheckLayer(Arc::clone(service)))
        // Cards and health are for everybody, and must answer when nothing else may any more.
        .layer(PublicLayer(Arc::clone(service)))
        // Past this many, one more would only make all of them late.
        .layer(AdmitLayer(Arc::clone(service)))
        // Strangers are turned away before a byte of their bodies is read.
        .layer(AuthenticateLayer::new(Arc::clone(service), authenticator))
        // A page in a browser can send requests to this machine. A caller without credentials may be such a page.
        .layer(OriginCheckLayer(Arc::clone(service)))
        // A caller that wants too much is told so, and the others go on.
        .layer(QuotaLayer(Arc::clone(service)))
        .service(Bindings(Arc::clone(service)))
}
