//! Sequence numbers of many tasks.

use nuncio_engine::store::TaskStore;
use nuncio_model::{Principal, Scope};

use super::{ClusterFixture, LONG, two};
use crate::store::writer::{Writer, chunk};

/// The result has one entry for each requested task, in order: `None` for a missing task or a task in another scope.
/// The tasks can belong to any node.
pub async fn sequences_of_all_nodes_follow_the_request<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let other = Scope::new("tenant".into(), Principal::named("a"));
    let mut tasks = [Writer::new("x"), Writer::new("y").in_scope(&other), Writer::new("z")];
    for (number, task) in tasks.iter_mut().enumerate() {
        task.run(&a).await;
        for _ in 0..number {
            task.stage(chunk("c"));
            task.run(&a).await;
        }
    }
    let asked =
        [(&other, "y"), (&Scope::open(), "z"), (&Scope::open(), "y"), (&other, "missing"), (&Scope::open(), "x")];
    let mut asked: Vec<_> = asked.into_iter().map(|(scope, id)| (scope.clone(), id.into())).collect();
    asked.push(asked[0].clone());
    assert_eq!(b.sequences(&asked).await.unwrap(), [Some(2), Some(3), None, None, Some(1), Some(2)]);
    assert!(b.sequences(&[]).await.unwrap().is_empty());
    tasks[2].stage(chunk("d"));
    tasks[2].run(&a).await;
    assert_eq!(b.sequences(&asked[1..2]).await.unwrap(), [Some(4)]);
}
