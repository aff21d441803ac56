//! Connections for reading, on threads where waiting for the disk holds up nobody.

use std::{path::PathBuf, sync::Arc};

use nuncio_engine::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction};
use tokio::sync::Semaphore;

use super::{
    connection,
    error::{closed, store_error},
    options::SqliteOptions,
};

/// Connections, made when they are needed and kept for the next read. Reads see what was committed when they began, and
/// never wait for a write.
pub(super) struct Readers {
    path: PathBuf,
    options: SqliteOptions,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, options: &SqliteOptions) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(options.readers.max(1)));
        Arc::new(Self { path, options: options.clone(), idle: Mutex::default(), permits })
    }

    /// Reads in one transaction: all that `read` sees is of the same moment.
    ///
    /// When the future is dropped the read goes on to its end, and its connection comes back.
    pub(super) async fn read<R: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Transaction<'_>) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?;
        let readers = Arc::clone(self);
        let result = tokio::task::spawn_blocking(move || {
            let result = readers.read_now(read);
            drop(permit);
            result
        });
        result.await.map_err(|_| closed())?
    }

    fn read_now<R>(&self, read: impl FnOnce(&Transaction<'_>) -> Result<R, StoreError>) -> Result<R, StoreError> {
        let idle = self.idle.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => connection::for_reading(&self.path, &self.options).map_err(store_error)?,
        };
        let result = {
            let transaction = connection.transaction().map_err(store_error)?;
            read(&transaction)
        };
        if result.is_ok() && !self.permits.is_closed() {
            self.idle.lock().push(connection);
        }
        result
    }

    /// Refuses reads from now on, and closes the connections that are idle.
    pub(super) fn close(&self) {
        self.permits.close();
        self.idle.lock().clear();
    }
}
