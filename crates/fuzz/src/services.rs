//! The additional gRPC services: health and reflection.

use nuncio_model::ErrorKind;
use nuncio_wire::{
    Version, Versions,
    proto::{health, reflection},
};

/// A request to one of the services.
pub(crate) fn services(input: &[u8]) {
    if let Err(error) = health::decode_request(input) {
        assert_eq!(error.kind(), ErrorKind::Parse);
    }
    for versions in [Versions::default(), Versions::only([Version::LATEST]), Versions::only([])] {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        let asked = reflection::answer(input, &versions, &mut once);
        assert_eq!(asked.is_ok(), reflection::answer(input, &versions, &mut twice).is_ok());
        assert_eq!(once, twice);
        if let Err(error) = asked {
            assert_eq!(error.kind(), ErrorKind::Parse);
            assert!(once.is_empty(), "a refused question has no answer");
        }
    }
}
