//! Facts about a call that are no part of the protocol.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::Arc,
};

/// Facts about a call, one value for each type: the deadline of the client, the trace, the claims of the caller.
///
/// A layer between the server and the agent adds a value of a type of its own, and a later layer reads the value. So a
/// new concern needs no new member of [`Request`](crate::Request). An empty context allocates nothing.
///
/// Clones share the values. Values do not go to other nodes or remote agents.
#[derive(Clone, Default)]
pub struct Context(Option<Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Context {
    /// Sets the value of this type. An earlier value of the type is replaced.
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        Arc::make_mut(self.0.get_or_insert_default()).insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.as_ref()?.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({} values)", self.0.as_ref().map_or(0, |values| values.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Hops(u32);

    #[test]
    fn a_value_is_found_by_its_type() {
        let mut context = Context::default();
        assert_eq!(context.get::<Hops>(), None);
        context.insert(Hops(1));
        context.insert("trace");
        context.insert(Hops(2));
        assert_eq!((context.get::<Hops>(), context.get::<&str>()), (Some(&Hops(2)), Some(&"trace")));
        assert_eq!(context.clone().get::<Hops>(), Some(&Hops(2)));
    }
}
