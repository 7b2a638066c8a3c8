//! Where a door is, and who may come in.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use keyplane_url::Secret;
use subtle::ConstantTimeEq as _;

/// Sixteen random letters and digits are more than 90 bits: not to be guessed over a network.
const TOKEN_LEAST: usize = 16;

/// Where to listen, and the token that callers need.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listen {
    /// The address. Port 0: any that is free.
    pub address: SocketAddr,
    /// What callers must bring. Without one, only loopback addresses are listened on.
    pub token: Option<Token>,
}

impl Listen {
    /// A door without a token. Only a loopback address will do.
    #[must_use]
    pub fn open(address: SocketAddr) -> Self {
        Self { address, token: None }
    }

    /// A door that asks for a token.
    #[must_use]
    pub fn guarded(address: SocketAddr, token: Token) -> Self {
        Self { address, token: Some(token) }
    }

    /// Asked before anything is bound: a door must not be open even for a moment.
    pub(crate) fn check(&self) -> Result<(), ListenError> {
        // `::ffff:127.0.0.1` is loopback too, and `::` is not.
        if self.token.is_none() && !self.address.ip().to_canonical().is_loopback() {
            return Err(ListenError::Open { address: self.address });
        }
        Ok(())
    }
}

/// The word that lets callers in. Never printed.
#[derive(Clone)]
pub struct Token(Secret);

impl Token {
    /// Refuses what could be guessed and what no header can carry.
    pub fn new(text: impl Into<String>) -> Result<Self, ListenError> {
        let text = text.into();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ListenError::TokenCharacters);
        }
        if text.len() < TOKEN_LEAST {
            return Err(ListenError::ShortToken { got: text.len(), least: TOKEN_LEAST });
        }
        Ok(Self(Secret::new(text)))
    }

    /// Whether this is the token. The time it takes tells at most the length.
    pub(crate) fn is(&self, brought: &str) -> bool {
        self.0.reveal().as_bytes().ct_eq(brought.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(set)")
    }
}

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Other machines could call without a token. Nothing was bound.
    #[error(
        "will not listen on {address} without a token: other machines reach it, and anyone there could use this API; \
         set a token, or listen on 127.0.0.1"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The token could be guessed.
    #[error("the token has {got} characters, which could be guessed; take at least {least} random ones")]
    ShortToken {
        /// Its length.
        got: usize,
        /// The least that will do.
        least: usize,
    },
    /// The token does not fit into a header.
    #[error(
        "the token holds a space, a control character or a letter beyond ASCII, which a header cannot carry; \
         take letters, digits and punctuation"
    )]
    TokenCharacters,
    /// The system does not give us the address.
    #[error("cannot listen on {address}: {source}; choose another address, or port 0 for any that is free")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(address: &str) -> Result<(), ListenError> {
        Listen::open(address.parse().unwrap()).check()
    }

    #[test]
    fn a_door_without_a_token_is_on_loopback_only() {
        for local in ["127.0.0.1:0", "127.8.8.8:80", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            open(local).unwrap();
        }
        for reachable in
            ["0.0.0.0:0", "[::]:0", "10.0.0.1:80", "192.168.1.2:80", "[::ffff:10.0.0.1]:0", "[fe80::1]:0"]
        {
            let error = open(reachable).unwrap_err().to_string();
            assert!(error.contains(reachable), "names the address: {error}");
            assert!(error.contains("without a token"), "says why: {error}");
            assert!(error.contains("set a token, or listen on 127.0.0.1"), "says what to do: {error}");
        }
    }

    #[test]
    fn with_a_token_any_address_will_do() {
        let token = Token::new("0123456789abcdef").unwrap();
        Listen::guarded("0.0.0.0:0".parse().unwrap(), token).check().unwrap();
    }

    #[test]
    fn a_token_that_could_be_guessed_or_not_be_sent_is_refused() {
        for short in ["", "x", "0123456789abcde"] {
            let error = Token::new(short).unwrap_err();
            assert!(
                matches!(error, ListenError::ShortToken { got, least: 16 } if got == short.len()),
                "{error}"
            );
        }
        for unsendable in ["0123456789abcdef\n", "0123456789 abcdef", "0123456789abcdéf"] {
            assert!(matches!(Token::new(unsendable).unwrap_err(), ListenError::TokenCharacters));
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        let token = Token::new("0123456789abcdef").unwrap();
        let listen = Listen::guarded("127.0.0.1:0".parse().unwrap(), token);
        assert!(!format!("{listen:?}").contains("0123"));
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef"));
        for other in ["", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0", "0123456789ABCDEF"] {
            assert!(!token.is(other), "{other}");
        }
    }
}
