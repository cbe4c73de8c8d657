//! The PostgreSQL protocol, version 3.0, from the client's side, and libpq's rules for describing a connection.
//!
//! The usual way: [`Config::parse`] reads what the user wrote and what the environment says;
//! [`Config::login`] gives what one connection needs; a [`Connection`] runs the handshake and then decodes what the
//! server sends; [`frontend`] appends what the client says.
//!
//! Left out: GSSAPI, SSPI, OAuth, certificate revocation lists, replication connections, protocol 3.2. What the user
//! asks for of these is refused by name.

pub mod conninfo;
pub mod frontend;
pub mod sql;
pub mod tls;

mod announced;
mod authentication;
mod choices;
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
mod unencrypted;

pub use announced::CancelKey;
pub use connection::Connection;
pub use conninfo::{Config, ConnInfoError, Env, Host, HostSpec, Parameters, Password, PasswordSource};
pub use frame::Broken;
pub use handshake::Handshake;
pub use host_name::{HostName, NamedAddress};
pub use login::{AuthMethod, AuthPolicy, ChannelBinding, Login, LoginError, SslMode, SslNegotiation};
pub use message::{CommandTag, Copy, Message, Notification, ParameterTypes, Setting, TxStatus};
pub use place::{Database, Place, Role, Server, Tls};
pub use replies::{Counted, Want};
pub use rows::{Column, DataRow, Format, RowDescription, Values};
pub use scram::{ScramCache, ScramError};
pub use server_error::{ErrorFields, ServerError};
pub use unencrypted::on_unencrypted_password;
