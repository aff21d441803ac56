//! The one data model of A2A and its eleven operations
