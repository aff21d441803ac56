//! Whether the server lives and is ready.

use super::Running;

#[tokio::test]
async fn it_says_that_it_lives_and_is_ready() {
    let running = Running::start().await;
    for (path, text) in [("/healthz", "alive\n"), ("/readyz", "ready\n")] {
        let answer = running.send("GET", path).without("a2a-version").fetch().await;
        assert_eq!((answer.status, &*answer.body), (200, text.as_bytes()));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(running.send("HEAD", path).fetch().await.status, 200);
        assert_eq!(running.send("POST", path).fetch().await.status, 405);
    }
}
