//! Signatures of cards, as far as their form goes (section 8.4): whether they are true takes a key.

use nuncio_model::{Struct, Value, decode_base64};

use super::Findings;

impl Findings {
    /// Checks that each signature is a JWS: a header in base64url with an algorithm, and a signature in base64url.
    pub(super) fn signatures(&mut self, card: &Struct) {
        let signatures = card.get("signatures").and_then(Value::as_array);
        for (index, signature) in signatures.into_iter().flatten().enumerate() {
            let text = |name: &str| signature.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            let mut wrong = |name: &str, reason: &str| {
                self.mistakes.push(format!("signatures[{index}].{name} {reason}"));
            };
            if let Some(protected) = text("protected") {
                match header(protected) {
                    Err(reason) => wrong("protected", reason),
                    Ok(header) => match header.get("alg").and_then(Value::as_str) {
                        None | Some("") => wrong("protected", "has no `alg`"),
                        Some(alg) if alg.eq_ignore_ascii_case("none") => {
                            wrong("protected", "has the `alg` none, which signs nothing");
                        }
                        Some(_) => {}
                    },
                }
            }
            if text("signature").is_some_and(|signature| bytes(signature).is_none()) {
                wrong("signature", "is not base64url");
            }
        }
    }
}

fn header(protected: &str) -> Result<Struct, &'static str> {
    let bytes = bytes(protected).ok_or("is not base64url")?;
    serde_json::from_slice(&bytes).map_err(|_| "is not the base64url of a JSON object")
}

/// Base64url without padding, and nothing else.
fn bytes(text: &str) -> Option<Box<[u8]>> {
    let is_url_safe = text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_'));
    decode_base64(text).ok().filter(|_| is_url_safe)
}
