//! The compiled descriptors of the `.proto` files, and the index of their symbols.

use std::{collections::BTreeMap, sync::LazyLock};

use super::super::{
    message::{decode, message},
    reader::Side,
};

/// A `google.protobuf.FileDescriptorSet` with the served files and their dependencies. A test regenerates the set and
/// compares both.
const DESCRIPTORS: &[u8] = include_bytes!("descriptors.bin");

/// A `google.protobuf.FileDescriptorSet` with the additional file of versions 0.2 and 0.3.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
const DESCRIPTORS_0_3: &[u8] = include_bytes!("descriptors-v0_3.bin");

/// The files, parsed on first use.
pub(super) static FILES: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::default();
    index.add_all(DESCRIPTORS);
    #[cfg(any(feature = "v0-2", feature = "v0-3"))]
    index.add_all(DESCRIPTORS_0_3);
    index
});

#[derive(Default)]
pub(super) struct Index {
    files: Vec<DescriptorFile>,
    symbols: BTreeMap<String, usize>,
    services: Vec<String>,
}

struct DescriptorFile {
    bytes: Box<[u8]>,
    name: String,
    dependencies: Vec<String>,
}

#[derive(Default)]
struct FileSet {
    file: Vec<Box<[u8]>>,
}

/// The used members of `FileDescriptorProto`. The same holds for the messages below.
#[derive(Default)]
struct FileDescriptor {
    name: String,
    package: String,
    dependency: Vec<String>,
    message_type: Vec<NamedDescriptor>,
    enum_type: Vec<NamedDescriptor>,
    service: Vec<ServiceDescriptor>,
}

#[derive(Default)]
struct NamedDescriptor {
    name: String,
}

#[derive(Default)]
struct ServiceDescriptor {
    name: String,
    method: Vec<NamedDescriptor>,
}

message! {
    FileSet {
        1 file: repeated,
    }

    FileDescriptor {
        1 name: implicit,
        2 package: implicit,
        3 dependency: repeated,
        4 message_type: repeated,
        5 enum_type: repeated,
        6 service: repeated,
    }

    NamedDescriptor {
        1 name: implicit,
    }

    ServiceDescriptor {
        1 name: implicit,
        2 method: repeated,
    }
}

impl Index {
    fn add_all(&mut self, descriptors: &[u8]) {
        for bytes in decode::<FileSet>(descriptors, Side::Reply).unwrap_or_default().file {
            let descriptor: FileDescriptor = decode(&bytes, Side::Reply).unwrap_or_default();
            self.add(bytes, descriptor);
        }
    }

    fn add(&mut self, bytes: Box<[u8]>, descriptor: FileDescriptor) {
        let file = self.files.len();
        let in_package = |name: &str| format!("{}.{name}", descriptor.package);
        for NamedDescriptor { name } in descriptor.message_type.iter().chain(&descriptor.enum_type) {
            self.symbols.insert(in_package(name), file);
        }
        for ServiceDescriptor { name, method } in &descriptor.service {
            let service = in_package(name);
            for NamedDescriptor { name } in method {
                self.symbols.insert(format!("{service}.{name}"), file);
            }
            self.symbols.insert(service.clone(), file);
            self.services.push(service);
        }
        self.files.push(DescriptorFile { bytes, name: descriptor.name, dependencies: descriptor.dependency });
    }

    pub(super) fn services(&self) -> impl Iterator<Item = &str> {
        self.services.iter().map(String::as_str)
    }

    pub(super) fn by_name(&self, name: &str) -> Option<usize> {
        self.files.iter().position(|file| file.name == name)
    }

    /// The file of a symbol, or of the symbol that contains it: for a field, the file of the message.
    pub(super) fn by_symbol(&self, symbol: &str) -> Option<usize> {
        let mut symbol = symbol.trim_start_matches('.');
        loop {
            if let Some(file) = self.symbols.get(symbol) {
                return Some(*file);
            }
            symbol = symbol.rsplit_once('.')?.0;
        }
    }

    /// A file, followed by its dependencies.
    pub(super) fn with_dependencies(&self, file: usize) -> Vec<&[u8]> {
        let mut found = vec![file];
        let mut next = 0;
        while let Some(file) = found.get(next) {
            for name in &self.files[*file].dependencies {
                if let Some(needed) = self.by_name(name)
                    && !found.contains(&needed)
                {
                    found.push(needed);
                }
            }
            next += 1;
        }
        found.into_iter().map(|file| &*self.files[file].bytes).collect()
    }
}
