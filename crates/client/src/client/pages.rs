//! All pages of a list as one stream.

use futures_util::{Stream, StreamExt as _, stream};
use nuncio_model::{Error, ErrorKind, Task, op::ListTasksRequest};

use super::Client;
use crate::error::ClientError;

impl Client {
    /// Lists all tasks that a request selects, newest first, page by page (section 3.1.4). The next page is read after
    /// all tasks of the current page have been taken. `page_size` is the number of tasks per page, `page_token` the
    /// first page. An error is the last item.
    ///
    /// ```no_run
    /// # async fn example(client: nuncio_client::Client) -> Result<(), nuncio_client::ClientError> {
    /// use futures_util::TryStreamExt as _;
    ///
    /// let mut tasks = client.all_tasks(Default::default());
    /// while let Some(task) = tasks.try_next().await? {
    ///     println!("{} {}", task.id, task.state().short());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Self::tasks`]; and `InvalidAgentResponse` if the agent returns the same page token twice in a row.
    pub fn all_tasks(
        &self,
        request: ListTasksRequest,
    ) -> impl Stream<Item = Result<Task, ClientError>> + Send + Unpin + use<> {
        let pages = stream::unfold(Some((self.clone(), request)), |state| async move {
            let (client, mut request) = state?;
            let page = match client.tasks(request.clone()).await {
                Ok(page) => page,
                Err(error) => return Some((vec![Err(error)], None)),
            };
            let mut tasks: Vec<_> = page.tasks.into_iter().map(Ok).collect();
            let next = Some(page.next_page_token).filter(|token| !token.is_empty());
            if next.is_some() && next == request.page_token {
                let message = "the agent gives the same page token twice";
                tasks.push(Err(Error::new(ErrorKind::InvalidAgentResponse, message).into()));
                return Some((tasks, None));
            }
            let state = next.map(|token| {
                request.page_token = Some(token);
                (client, request)
            });
            Some((tasks, state))
        });
        pages.map(stream::iter).flatten().boxed()
    }
}
