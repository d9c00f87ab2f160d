import Glibc
import TestTools

/// The file of a socket that no process listens on any more.
package enum StaleSocket {
  package static func make(at path: String) throws { close(try bindUnixSocket(at: path)) }
}
