//! Several agents on one port, called by the client over each binding and version.

use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client};
use nuncio_engine::{Engine, Turn, agent_fn};
use nuncio_model::{AgentCard, Artifact, ErrorKind, StreamResponse, op::ListTasksRequest};
use nuncio_server::{BindError, Mount, Server, Tenants};
use nuncio_wire::Version;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::matrix::Way;

/// An agent that answers with its name.
fn engine(name: &'static str) -> Engine {
    let agent = agent_fn(move |turn: Turn| async move {
        turn.artifact("name").chunk(name).await?;
        turn.complete("").await
    });
    Engine::builder(agent).card(AgentCard::new(name, "")).build()
}

async fn serve(mounts: impl IntoIterator<Item = Mount>) -> String {
    let server = Server::hosting(mounts).bindings(Binding::ALL).bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));
    address
}

#[tokio::test]
async fn each_agent_is_found_by_its_path_over_each_binding_and_version() {
    let address = serve([
        Mount::root(engine("root")),
        Mount::at("/one", engine("one")).with_tenant("first"),
        Mount::at("/team/two", engine("two")),
        Mount::tenant("three", engine("three")),
    ])
    .await;
    for (path, name) in [("", "root"), ("/one", "one"), ("/team/two", "two"), ("/three", "three")] {
        for way in Way::all() {
            let is_grpc = way.binding == Binding::Grpc;
            let has_grpc = match name {
                "root" => true,
                "two" => false,
                _ => way.version == Version::V1_0,
            };
            let reference = format!("{address}{path}");
            let client =
                Client::builder().prefer([way.binding]).version(way.version.as_str()).connect(&reference).await;
            if is_grpc && !has_grpc {
                let other = client.unwrap().interface().map(|interface| interface.protocol_binding.clone());
                assert_ne!(other.as_deref(), Some("GRPC"), "{name} {way:?}");
                continue;
            }
            let client = client.unwrap();
            assert_eq!(client.card().unwrap().name, name);
            assert_eq!(client.interface().unwrap().protocol_binding, way.binding.name(), "{name} {way:?}");
            let answer = client.send("hi").await.unwrap_or_else(|error| panic!("{name} {way:?}: {error}"));
            assert_eq!(answer.text(), name, "{way:?}");
            let mut stream = client.send_stream("hi").await.unwrap();
            let mut streamed = String::new();
            while let Some(event) = stream.next().await {
                match &event.unwrap().response {
                    StreamResponse::ArtifactUpdate(update) => streamed += &update.artifact.text(),
                    StreamResponse::Task(task) => streamed.extend(task.artifacts.iter().map(Artifact::text)),
                    _ => {}
                }
            }
            assert_eq!(streamed, name, "{way:?}");
        }
    }
}

/// An agent has the same tasks by its path and by its tenant, and no tasks of another agent.
#[tokio::test]
async fn an_agent_has_the_same_tasks_by_path_and_tenant() {
    let address = serve([Mount::tenant("one", engine("one")), Mount::tenant("two", engine("two"))]).await;
    for name in ["one", "two"] {
        let mut seen = Vec::new();
        for binding in Binding::ALL {
            let client = Client::builder().prefer([binding]).connect(&format!("{address}/{name}")).await.unwrap();
            client.send("hi").await.unwrap();
            seen.push(client.call(ListTasksRequest::default()).await.unwrap().total_size);
        }
        assert_eq!(seen, [1, 2, 3], "{name}");
    }
}

#[tokio::test]
async fn without_an_agent_at_the_root_a_call_must_name_one() {
    let address = serve([Mount::tenant("one", engine("one"))]).await;
    // JSON-RPC at the root finds the agent by the tenant, too.
    let root = |binding| Client::builder().version("1.0").endpoint(&format!("http://{address}/"), binding);
    let refused = root(Binding::JsonRpc).unwrap().send("hi").await.unwrap_err();
    assert_eq!(refused.as_agent_error().map(nuncio_model::Error::kind), Some(ErrorKind::InvalidParams), "{refused}");
    let refused = root(Binding::Grpc).unwrap().send("hi").await.unwrap_err();
    assert_eq!(refused.as_agent_error().map(nuncio_model::Error::kind), Some(ErrorKind::InvalidParams), "{refused}");
    assert!(root(Binding::HttpJson).unwrap().send("hi").await.is_err());
    for binding in [Binding::JsonRpc, Binding::Grpc] {
        let builder = Client::builder().version("1.0").tenant("one");
        let client = builder.endpoint(&format!("http://{address}/"), binding).unwrap();
        assert_eq!(client.send("hi").await.unwrap().text(), "one", "{binding:?}");
    }
    assert!(Client::connect(address.as_str()).await.is_err(), "no card is at the root");
}

#[tokio::test]
async fn each_host_has_its_own_agents() {
    let address = serve([Mount::root(engine("others")), Mount::root(engine("local")).with_host("localhost")]).await;
    let port = address.rsplit_once(':').unwrap().1;
    for (reference, name) in [(format!("http://localhost:{port}"), "local"), (address.clone(), "others")] {
        let client = Client::connect(reference.as_str()).await.unwrap();
        assert_eq!(client.send("hi").await.unwrap().text(), name);
    }
    // A name of this machine is allowed in any case. The host of an agent is allowed because it is the agent's.
    let server =
        Server::hosting([Mount::root(engine("one")).with_host("one.example")]).bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().port();
    tokio::spawn(server.serve(std::future::pending()));
    for (host, status) in [("one.example", 200), ("two.example", 421), ("localhost", 404)] {
        let answer = get(port, host, "", "/.well-known/agent-card.json").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
}

/// The public URL has the host of the server. The card of an agent with a host must not send clients to another agent.
#[tokio::test]
async fn the_card_of_an_agent_with_a_host_has_addresses_with_this_host() {
    let mounts = [Mount::root(engine("a")), Mount::root(engine("b")).with_host("b.example")];
    let server = Server::hosting(mounts)
        .public_url("https://a.example:8443".parse().unwrap())
        .grpc_url("a.example:443".parse().unwrap())
        .allowed_hosts(["a.example".parse().unwrap()])
        .bind("127.0.0.1:0")
        .await
        .unwrap();
    let port = server.local_addr().port();
    tokio::spawn(server.serve(std::future::pending()));
    for (host, name, urls) in [
        ("a.example", "a", ["https://a.example:8443/", "https://a.example:8443", "a.example:443"]),
        ("b.example", "b", ["https://b.example:8443/", "https://b.example:8443", "b.example:8443"]),
    ] {
        let card = get(port, host, "", "/.well-known/agent-card.json").await;
        assert!(card.contains(&format!("\"name\":\"{name}\"")), "{card}");
        for url in urls {
            assert!(card.contains(&format!("\"url\":\"{url}\"")), "{host}: {url} {card}");
        }
    }
}

#[tokio::test]
async fn a_trusted_proxy_says_which_host_the_client_requested() {
    let mounts = [Mount::root(engine("a")), Mount::root(engine("b")).with_host("b.example")];
    let server = Server::hosting(mounts).trust_forwarded(true).bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().port();
    tokio::spawn(server.serve(std::future::pending()));
    let card = get(port, "localhost", "x-forwarded-host: b.example\r\n", "/.well-known/agent-card.json").await;
    assert!(card.contains("\"name\":\"b\"") && card.contains("http://b.example/"), "{card}");
    let card = get(port, "localhost", "", "/.well-known/agent-card.json").await;
    assert!(card.contains("\"name\":\"a\""), "{card}");
}

/// A tenant finds the same agent over each binding.
#[tokio::test]
async fn a_tenant_at_the_root_finds_the_agent_over_each_binding() {
    let root = Mount::root(engine("root")).with_tenants(Tenants::any());
    let address = serve([root, Mount::at("/x", engine("two")).with_tenant("two")]).await;
    for (tenant, name) in [("two", "two"), ("three", "root")] {
        for binding in Binding::ALL {
            let builder = Client::builder().version("1.0").tenant(tenant);
            let client = builder.endpoint(&format!("http://{address}"), binding).unwrap();
            assert_eq!(client.send("hi").await.unwrap().text(), name, "{binding:?}");
        }
    }
}

/// The answer to GET over a connection of its own.
async fn get(port: u16, host: &str, headers: &str, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn places_that_collide_are_refused() {
    let with_tenant = |mount: Mount| mount.with_tenants(Tenants::named(["one"]));
    for (mounts, message) in [
        (
            vec![with_tenant(Mount::root(engine("a"))), Mount::at("/one", engine("b"))],
            "two agents are at /one: one as a tenant of the agent at /",
        ),
        (
            vec![with_tenant(Mount::root(engine("a"))), Mount::at("/b", engine("b")).with_tenant("one")],
            "two agents are at /one: one as a tenant of the agent at /",
        ),
        (
            vec![with_tenant(Mount::at("/a", engine("a"))), Mount::at("/a/one", engine("b"))],
            "two agents are at /a/one: one as a tenant of the agent at /a/",
        ),
        (vec![Mount::root(engine("a")).with_host("a.example:80")], "a.example:80"),
        (Vec::new(), "a server needs at least one agent"),
        (vec![Mount::at("/a", engine("a")), Mount::at("/a/", engine("b"))], "two agents are at the path /a"),
        (
            vec![Mount::tenant("t", engine("a")), Mount::at("/b", engine("b")).with_tenant("t")],
            "two agents are at the tenant t",
        ),
        (vec![Mount::at("a", engine("a"))], "`a` cannot be the path of an agent"),
        (vec![Mount::at("/a b", engine("a"))], "`/a b` cannot be the path of an agent"),
        (vec![Mount::at("/tasks", engine("a"))], "`/tasks` cannot be the path of an agent"),
        (vec![Mount::tenant("", engine("a"))], "cannot be the name of a tenant"),
        (vec![Mount::root(engine("a")).with_host("a host")], "a host"),
    ] {
        let refused = Server::hosting(mounts).bind("127.0.0.1:0").await.err().unwrap();
        assert!(matches!(&refused, BindError::Mounts(_)), "{refused}");
        assert!(refused.to_string().contains(message), "{refused}");
    }
    let builder = Server::hosting([Mount::root(engine("a")), Mount::at("/one/two", engine("b"))]);
    let refused = builder.public_url("https://a.example/one".parse().unwrap()).bind("127.0.0.1:0").await.err().unwrap();
    assert!(refused.to_string().contains("begins with the path of the public URL"), "{refused}");
}
