import Byway
import BywayLibC
import BywayPrimitives
import NIOCore

/// The path of a link address, which is known to fit into a socket address.
struct SocketPath {
  let text: String

  /// The size of `sockaddr_un.sun_path` without the final zero (unix(7)).
  static let limit = 107

  init(_ address: LinkAddress) throws {
    guard address.authority ?? "" == "" else {
      throw BywayError(
        .invalidAddress, "\(address.text) has a host in it: write unix:/PATH, with one slash, or unix:PATH.")
    }
    guard !address.path.isEmpty, !address.path.utf8.contains(0) else {
      throw BywayError(.invalidAddress, "\(address.text) has no path: write unix:/run/byway.sock.")
    }
    let count = address.path.utf8.count
    guard count <= Self.limit else {
      throw BywayError(
        .invalidAddress,
        "The socket path \(address.path) has \(count) bytes, but only \(Self.limit) are possible: use a shorter directory, or a "
          + "path relative to the working directory.")
    }
    text = address.path
  }

  /// The address. NIO's own initializer accepts four bytes less.
  var socketAddress: SocketAddress { SocketAddress(systemAddress) }

  var systemAddress: sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: text.utf8) }
    return address
  }

  var directory: String {
    guard let slash = text.lastIndex(of: "/") else { return "." }
    return slash == text.startIndex ? "/" : String(text[..<slash])
  }

  /// The kind of the file at the path, after following symbolic links.
  var kind: FileKind { FileKind(of: text) }
}

enum FileKind {
  case missing, socket, directory, other, hidden

  init(of path: String) {
    do {
      switch try FileStatus(of: path).kind {
      case .socket: self = .socket
      case .folder: self = .directory
      default: self = .other
      }
    } catch {
      self = error.code == ENOENT || error.code == ENOTDIR ? .missing : .hidden
    }
  }
}
