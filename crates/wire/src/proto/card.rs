//! The tables of the agent card (sections 4.4 and 4.5).

use nuncio_model::card::{
    APIKeySecurityScheme, AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow,
    HTTPAuthSecurityScheme, ImplicitOAuthFlow, MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows,
    OpenIdConnectSecurityScheme, PasswordOAuthFlow, SecurityRequirement, SecurityScheme, StringList,
};

use super::message::{message, oneof};

message! {
    AgentCard {
        1 name: implicit,
        2 description: implicit,
        3 supported_interfaces: repeated,
        4 provider: presence,
        5 version: implicit,
        6 documentation_url: presence,
        7 capabilities: always,
        8 security_schemes: map,
        9 security_requirements: repeated,
        10 default_input_modes: repeated,
        11 default_output_modes: repeated,
        12 skills: repeated,
        13 signatures: repeated,
        14 icon_url: presence,
    }

    AgentInterface {
        1 url: implicit,
        2 protocol_binding: implicit,
        3 tenant: implicit,
        4 protocol_version: implicit,
    }

    AgentProvider {
        1 url: implicit,
        2 organization: implicit,
    }

    AgentCapabilities {
        1 streaming: presence,
        2 push_notifications: presence,
        3 extensions: repeated,
        4 extended_agent_card: presence,
    }

    AgentExtension {
        1 uri: implicit,
        2 description: implicit,
        3 required: implicit,
        4 params: presence,
    }

    AgentSkill {
        1 id: implicit,
        2 name: implicit,
        3 description: implicit,
        4 tags: repeated,
        5 examples: repeated,
        6 input_modes: repeated,
        7 output_modes: repeated,
        8 security_requirements: repeated,
    }

    AgentCardSignature {
        1 protected: implicit,
        2 signature: implicit,
        3 header: presence,
    }

    SecurityRequirement {
        1 schemes: map,
    }

    StringList {
        1 list: repeated,
    }

    APIKeySecurityScheme {
        1 description: implicit,
        2 location: implicit,
        3 name: implicit,
    }

    HTTPAuthSecurityScheme {
        1 description: implicit,
        2 scheme: implicit,
        3 bearer_format: implicit,
    }

    OAuth2SecurityScheme {
        1 description: implicit,
        2 flows: always,
        3 oauth2_metadata_url: implicit,
    }

    OpenIdConnectSecurityScheme {
        1 description: implicit,
        2 open_id_connect_url: implicit,
    }

    MutualTlsSecurityScheme {
        1 description: implicit,
    }

    AuthorizationCodeOAuthFlow {
        1 authorization_url: implicit,
        2 token_url: implicit,
        3 refresh_url: implicit,
        4 scopes: map,
        5 pkce_required: implicit,
    }

    ClientCredentialsOAuthFlow {
        1 token_url: implicit,
        2 refresh_url: implicit,
        3 scopes: map,
    }

    ImplicitOAuthFlow {
        1 authorization_url: implicit,
        2 refresh_url: implicit,
        3 scopes: map,
    }

    PasswordOAuthFlow {
        1 token_url: implicit,
        2 refresh_url: implicit,
        3 scopes: map,
    }

    DeviceCodeOAuthFlow {
        1 device_authorization_url: implicit,
        2 token_url: implicit,
        3 refresh_url: implicit,
        4 scopes: map,
    }
}

oneof! {
    SecurityScheme {
        1 api_key_security_scheme: ApiKey,
        2 http_auth_security_scheme: HttpAuth,
        3 oauth2_security_scheme: OAuth2,
        4 open_id_connect_security_scheme: OpenIdConnect,
        5 mtls_security_scheme: MutualTls,
    }

    OAuthFlows {
        1 authorization_code: AuthorizationCode,
        2 client_credentials: ClientCredentials,
        3 implicit: Implicit,
        4 password: Password,
        5 device_code: DeviceCode,
    }
}
