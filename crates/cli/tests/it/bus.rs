//! The bus: the setting, and errors for wrong values.

use crate::agent::Home;

const SECRET: &str = "made-up-secret";

#[test]
fn a_bus_is_for_a_store_that_is_shared() {
    let home = Home::new();
    for (bus, said) in [("nats://127.0.0.1", "nobody to wake"), ("postgres", "the store is another")] {
        for store in ["memory", "sqlite:./tasks.db"] {
            let run = home.run(&["serve", "--port", "0", "--store", store, "--bus", bus]);
            assert!(run.err.contains(said) && run.err.contains("--store postgres://"), "{bus}: {}", run.err);
        }
    }
    let agent = home.serve(&["--store", "memory", "--bus", "none"]);
    assert!(!agent.banner.contains("Bus:"), "{}", agent.banner);
}

#[test]
fn an_address_that_cannot_be_is_told_without_its_password() {
    let home = Home::new();
    for (bus, said) in [
        (format!("redis://user:{SECRET}@host"), "nats:// or tls://"),
        (format!("nats://user:{SECRET}@host/a/b"), "the prefix `a/b`"),
        (format!("nats://user:{SECRET}@host:x"), "`host:***`"),
        (format!("nats://user:{SECRET}@host?ca=/no/such.pem"), "ca /no/such.pem: No such file"),
    ] {
        let run = home.run_with(&["serve", "--port", "0", "--store", "memory"], &[("NUNCIO_SERVE_BUS", &bus)], "");
        assert!(run.err.contains("bus from environment variable NUNCIO_SERVE_BUS"), "{}", run.err);
        assert!(run.err.contains(said) && !run.err.contains(SECRET), "{}", run.err);
    }
}

#[test]
fn addresses_are_shown_without_passwords() {
    let home = Home::new();
    let environment = [
        ("NUNCIO_SERVE_BUS", "nats://ann:made-up-secret@host/agents"),
        ("NUNCIO_SERVE_STORE", "postgres://ann:made-up-secret@host/tasks"),
    ];
    let run = home.run_with(&["config", "show", "--serve"], &environment, "").ok();
    assert!(!format!("{run:?}").contains(SECRET), "{run:?}");
    assert!(run.out.contains("nats://ann:***@host/agents") && run.out.contains("postgres://ann:***@host/tasks"));
    let path = home.write("agent.toml", "bus = 'nats://ann:made-up-secret@host'\nstore = 'postgres://host/tasks'\n");
    let run = home.run(&["config", "show", "--config", path.to_str().unwrap()]).ok();
    assert!(!format!("{run:?}").contains(SECRET), "{run:?}");
    assert!(run.err.contains("chmod 600"), "{run:?}");
}
