//! Cards for people.

use nuncio_model::{AgentCard, card::SecurityScheme};

use super::Text;

impl Text {
    pub(crate) fn card(&mut self, card: &AgentCard) {
        self.field("Name", &card.name);
        self.field("Version", &card.version);
        self.field("Description", &card.description);
        self.field_if("Provider", card.provider.as_ref().map(|it| it.organization.as_str()));
        self.field_if("Documentation", card.documentation_url.as_deref());
        for interface in &card.supported_interfaces {
            let tenant = interface.tenant.as_ref().map(|tenant| format!(" (tenant {tenant})")).unwrap_or_default();
            let (binding, version) = (&interface.protocol_binding, &interface.protocol_version);
            self.field("Interface", &format!("{binding} {version} {}{tenant}", interface.url));
        }
        let can = &card.capabilities;
        let capabilities =
            [("streaming", can.streams()), ("push-notifications", can.pushes()), ("extended-card", can.extends_card())];
        let declared: Vec<_> = capabilities.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name).collect();
        self.field("Capabilities", &or(declared.join(", "), "none"));
        for extension in &can.extensions {
            self.field(
                "Extension",
                &format!("{}{}", extension.uri, if extension.required { " (required)" } else { "" }),
            );
        }
        self.security(card);
        self.field_if("Input", Some(&card.default_input_modes.join(", ")));
        self.field_if("Output", Some(&card.default_output_modes.join(", ")));
        for skill in &card.skills {
            self.field("Skill", &format!("{} ({}): {}", skill.name, skill.id, skill.description));
            if self.is_verbose {
                self.field_if("Tags", Some(&skill.tags.join(", ")));
                for example in &skill.examples {
                    self.field("Example", example);
                }
            }
        }
        if !card.signatures.is_empty() {
            self.field("Signatures", &format!("{}, not verified", card.signatures.len()));
        }
    }

    fn security(&mut self, card: &AgentCard) {
        for (name, scheme) in &card.security_schemes {
            let about = match scheme {
                SecurityScheme::ApiKey(key) => format!("API key `{}` in the {}", key.name, key.location),
                SecurityScheme::HttpAuth(http) => format!("HTTP {}", http.scheme),
                SecurityScheme::OAuth2(_) => "OAuth 2.0".to_owned(),
                SecurityScheme::OpenIdConnect(connect) => format!("OpenID Connect at {}", connect.open_id_connect_url),
                SecurityScheme::MutualTls(_) => "client certificate".to_owned(),
                _ => "not known here".to_owned(),
            };
            self.field("Security", &format!("{name}: {about}"));
        }
        // A caller needs all schemes of one requirement.
        let ways = card.security_requirements.iter().map(|requirement| {
            let names: Vec<_> = requirement.schemes.keys().map(String::as_str).collect();
            or(names.join(" and "), "nothing")
        });
        self.field_if("Requires", Some(&ways.collect::<Vec<_>>().join(", or ")));
    }
}

fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text }
}
