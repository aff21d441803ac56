//! One builder, one port: JSON-RPC, HTTP+JSON, gRPC and agent cards
