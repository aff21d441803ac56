//! Server reflection (`grpc.reflection.v1`): describes the served protocols for tools without the `.proto` files.

mod files;

use nuncio_model::Error;

use self::files::FILES;
use super::{
    fault::Fault,
    message::{Message, decode, message},
    reader::Side,
};
use crate::negotiate::Versions;

/// The paths of the call. Older tools use the second path. Both have the same messages.
pub const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Appends the answer to one request. Services of versions that are not spoken are omitted from the list.
///
/// # Errors
///
/// `Parse` if the bytes are not a request.
pub fn answer(question: &[u8], versions: &Versions, to: &mut Vec<u8>) -> Result<(), Error> {
    let question: Question = decode(question, Side::Request).map_err(Fault::into_request_error)?;
    let mut answer = Answer { valid_host: question.host.clone(), ..Answer::default() };
    match &question {
        Question { list_services: Some(_), .. } => {
            let service = FILES.services().filter(|name| is_spoken(name, versions));
            let service = service.map(|name| ServiceResponse { name: name.to_owned() }).collect();
            answer.services = Some(Services { service });
        }
        Question { file_by_filename: Some(name), .. } => answer.files(FILES.by_name(name), name),
        Question { file_containing_symbol: Some(symbol), .. } => answer.files(FILES.by_symbol(symbol), symbol),
        // The extensions are options of HTTP and of fields. Tools find them through their files.
        _ => answer.error = Some(Failure { error_code: UNIMPLEMENTED, error_message: "not supported".to_owned() }),
    }
    answer.original_request = Some(question);
    answer.write_fields(to);
    Ok(())
}

/// Whether a service belongs to a spoken version or to no version.
fn is_spoken(service: &str, versions: &Versions) -> bool {
    versions.have_service(service) || !Versions::default().have_service(service)
}

const NOT_FOUND: i32 = 5;
const UNIMPLEMENTED: i32 = 12;

#[derive(Default)]
struct Question {
    host: String,
    file_by_filename: Option<String>,
    file_containing_symbol: Option<String>,
    all_extension_numbers_of_type: Option<String>,
    list_services: Option<String>,
}

#[derive(Default)]
struct Answer {
    valid_host: String,
    original_request: Option<Question>,
    files: Option<FileDescriptorResponse>,
    services: Option<Services>,
    error: Option<Failure>,
}

#[derive(Default)]
struct FileDescriptorResponse {
    file_descriptor_proto: Vec<Box<[u8]>>,
}

#[derive(Default)]
struct Services {
    service: Vec<ServiceResponse>,
}

#[derive(Default)]
struct ServiceResponse {
    name: String,
}

#[derive(Default)]
struct Failure {
    error_code: i32,
    error_message: String,
}

impl Answer {
    /// Answers with a file and its dependencies.
    fn files(&mut self, found: Option<usize>, what: &str) {
        if let Some(file) = found {
            let file_descriptor_proto = FILES.with_dependencies(file).into_iter().map(Box::from).collect();
            self.files = Some(FileDescriptorResponse { file_descriptor_proto });
        } else {
            let error_message = format!("{what} is unknown");
            self.error = Some(Failure { error_code: NOT_FOUND, error_message });
        }
    }
}

message! {
    Question {
        1 host: implicit,
        3 file_by_filename: presence,
        4 file_containing_symbol: presence,
        6 all_extension_numbers_of_type: presence,
        7 list_services: presence,
    }

    Answer {
        1 valid_host: implicit,
        2 original_request: presence,
        4 files: presence,
        6 services: presence,
        7 error: presence,
    }

    FileDescriptorResponse {
        1 file_descriptor_proto: repeated,
    }

    Services {
        1 service: repeated,
    }

    ServiceResponse {
        1 name: implicit,
    }

    Failure {
        1 error_code: implicit,
        2 error_message: implicit,
    }
}
