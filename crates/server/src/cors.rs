//! Which pages in browsers may call the agent: none, unless they are named.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, header};
use tower::{Layer, layer::layer_fn};
use tower_http::cors::{AllowOrigin, Cors, CorsLayer};

use crate::head::OLD_EXTENSIONS;

/// Lets these origins call; `*` is any. Never with cookies or other credentials that the browser adds by itself: a
/// page that has a token sends it in a header.
pub(crate) fn layer<S>(origins: &[HeaderValue]) -> impl Layer<S, Service = Box<Cors<S>>> + Clone {
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().cloned())
    };
    let cors = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            header::CONTENT_TYPE,
            header::AUTHORIZATION,
            HeaderName::from_static("x-api-key"),
            HeaderName::from_static("a2a-version"),
            HeaderName::from_static("a2a-extensions"),
            OLD_EXTENSIONS,
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static(nuncio_model::resume::PARAMETER),
        ])
        .expose_headers([
            header::ETAG,
            header::RETRY_AFTER,
            header::WWW_AUTHENTICATE,
            HeaderName::from_static("a2a-extensions"),
            OLD_EXTENSIONS,
        ])
        .max_age(Duration::from_mins(10));
    // In a box, because it is large, seldom there, and part of each connection.
    layer_fn(move |inner| Box::new(cors.layer(inner)))
}
