//! The root for GET: a page for people, and a redirect to the card for programs.

use nuncio_model::{AgentCard, card::AgentSkill};

use super::{Running, agent::engine};

#[tokio::test]
async fn programs_are_redirected_to_the_card() {
    let running = Running::start().await;
    for (verb, accept) in [("GET", None), ("GET", Some("*/*")), ("GET", Some("application/json")), ("HEAD", None)] {
        let sent = running.send(verb, "/").without("a2a-version");
        let sent = if let Some(accept) = accept { sent.header("accept", accept) } else { sent };
        let answer = sent.fetch().await;
        assert_eq!((answer.status, answer.header("location")), (307, "/.well-known/agent-card.json"), "{accept:?}");
        assert_eq!(answer.header("vary"), "Accept");
        let card = running.send("GET", answer.header("location")).fetch().await;
        assert_eq!(card.json()["name"], "test");
    }
    let prefixed = Running::with(|builder| builder.public_url("https://a.example/one".parse().unwrap())).await;
    for path in ["/", "/one", "/one/"] {
        let answer = prefixed.send("GET", path).fetch().await;
        assert_eq!(answer.header("location"), "/one/.well-known/agent-card.json", "{path}");
    }
}

#[tokio::test]
async fn people_get_a_page_without_scripts() {
    let mut card = AgentCard::new("<b>Evil</b> & \"co\"", "</title><script>alert(1)</script>\u{1b}");
    card = card.with_skill(AgentSkill::new("s", "<img src=x onerror=alert(1)>", "It's 'quoted'"));
    let running = Running::of(engine().card(card).build(), |builder| builder).await;
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    let answer = running.send("GET", "/").header("accept", browser).fetch().await;
    assert_eq!((answer.status, answer.media_type()), (200, "text/html; charset=utf-8"));
    let policy = answer.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    let page = String::from_utf8(answer.body.to_vec()).unwrap();
    for said in [
        "&lt;b&gt;Evil&lt;/b&gt; &amp; &quot;co&quot;",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&lt;img src=x onerror=alert(1)&gt;",
        "It&#39;s &#39;quoted&#39;",
        &format!("nuncio send -a http://{} \"hello\"", running.address),
        "href=\"/.well-known/agent-card.json\"",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{1b}'), "{page}");
    let head = running.send("HEAD", "/").header("accept", browser).fetch().await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    // A page of another origin may link to the root, but a foreign host name is refused.
    let linked =
        running.send("GET", "/").header("accept", browser).header("sec-fetch-site", "cross-site").fetch().await;
    assert_eq!(linked.status, 200);
    assert_eq!(running.send("GET", "/").header("host", "evil.example").fetch().await.status, 421);
}
