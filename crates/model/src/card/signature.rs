//! Signatures over a card (section 8.4).

use crate::json::{Struct, json_object};

json_object! {
    /// A detached JWS over the canonical card (section 8.4.2).
    pub struct AgentCardSignature {
        /// The protected header, base64url of its JSON.
        pub protected: String => required "protected",
        /// The signature, base64url.
        pub signature: String => required "signature",
        /// The unprotected header.
        pub header: Option<Box<Struct>> => presence "header",
    }
}
