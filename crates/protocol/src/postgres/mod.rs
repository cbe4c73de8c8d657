//! The client side of the PostgreSQL protocol, version 3.0, and libpq's rules for describing a connection.
//!
//! [`Config::parse`] reads what the user wrote and the environment. [`Config::login`] gives what a connection
//! needs. A [`Connection`] runs the handshake, then decodes the server's messages; [`frontend`] appends the
//! client's.
//!
//! Left out: GSSAPI, SSPI, OAuth, certificate revocation lists, replication connections, protocol 3.2.
//! Options that need one of these are refused by name.

pub mod conninfo;
pub mod frontend;
pub mod sql;
pub mod tls;

mod announced;
mod authentication;
mod connection;
mod frame;
mod handshake;
mod host_name;
mod login;
mod message;
mod place;
mod position;
mod replies;
mod rows;
mod scram;
mod server_error;

pub use announced::CancelKey;
pub use authentication::on_unencrypted_password;
pub use connection::Connection;
pub use conninfo::{Config, ConnInfoError, Env, HostAddress, HostSpec, Parameters, Password, PasswordSource};
pub use frame::FrameError;
pub use handshake::Handshake;
pub use host_name::{HostName, NamedAddress};
pub use login::{AuthMethod, AuthPolicy, ChannelBinding, Login, LoginError, SslMode, SslNegotiation};
pub use message::{CommandTag, Copy, Message, Notification, ParameterTypes, Setting, TxStatus};
pub use place::{Database, Place, PlaceWithRole, Role, Tls};
pub use replies::{Counted, Want};
pub use rows::{Column, DataRow, RowDescription, ValueFormat, Values};
pub use scram::{ScramCache, ScramError};
pub use server_error::{ErrorFields, ServerError};
