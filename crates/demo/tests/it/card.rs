//! Tests of the agent's card.

use nuncio_demo::{Capability, DemoOptions, card, extended_card};
use nuncio_model::{AgentCard, card::AgentCardSignature};

#[test]
fn the_card_declares_all_capabilities_and_an_example_of_each_skill() {
    let card = card(&DemoOptions::default());
    assert_eq!(card.name, "Nuncio demo agent");
    assert!(card.capabilities.streams() && card.capabilities.pushes() && card.capabilities.extends_card());
    assert!(card.skills.len() >= 2);
    assert!(card.skills.iter().all(|skill| !skill.tags.is_empty() && !skill.examples.is_empty()));
    let modes = ["text/plain", "application/json", "application/octet-stream", "image/png"];
    assert_eq!(card.default_input_modes, modes);
    assert_eq!(card.default_output_modes, modes);
    assert_eq!(card.capabilities.extensions, []);
}

#[test]
fn capabilities_can_be_switched_off() {
    let without = ["streaming", "push", "extended-card"].map(|name| name.parse().unwrap()).to_vec();
    let card = card(&DemoOptions { without, ..DemoOptions::default() }).capabilities;
    assert!(!card.streams() && !card.pushes() && !card.extends_card());
    let refused = "pull".parse::<Capability>().unwrap_err();
    assert_eq!(refused, "`pull` is none of streaming, push and extended-card");
}

#[test]
fn extensions_are_declared() {
    let options = DemoOptions {
        extensions: vec!["https://example.com/may".to_owned()],
        required_extensions: vec!["https://example.com/must".to_owned()],
        ..DemoOptions::default()
    };
    let extensions = card(&options).capabilities.extensions;
    let declared: Vec<_> = extensions.iter().map(|extension| (extension.uri.as_str(), extension.required)).collect();
    assert_eq!(declared, [("https://example.com/may", false), ("https://example.com/must", true)]);
}

#[test]
fn the_extended_card_has_an_additional_skill() {
    let public = card(&DemoOptions::default());
    let extended = extended_card(public.clone());
    assert_eq!(extended.skills.len(), public.skills.len() + 1);
    assert!(extended.description.len() > public.description.len());
    assert_eq!(extended_card(extended.clone()), extended);
}

#[test]
fn changes_of_the_public_card_are_kept_in_the_extended_card() {
    let mut public = card(&DemoOptions::default());
    public.name = "Zed".to_owned();
    public.description = "Does this.".to_owned();
    let extended = extended_card(public.clone());
    assert_eq!(extended.skills.last().unwrap().id, "whoami");
    assert_eq!(AgentCard { skills: public.skills.clone(), ..extended }, public);
    public.signatures.push(AgentCardSignature::default());
    assert_eq!(extended_card(public.clone()), public, "one more skill would break the signature");
}
