package import Byway
import BywayPrimitives
import NIOCore

/// The state of a Unix socket's path on the remote host, as its shell sees it. An SSH server reports only that it could not
/// connect.
package enum FarSocket: Sendable, Hashable {
  /// A program listens there, as far as can be seen, and the user may connect.
  case there
  /// No program listens any more.
  case stale
  case denied
  case missing
  case notASocket
  /// The user may not search that folder.
  case closed(folder: String)

  /// Only reads. The output line starts with a mark, because a shell may print a greeting first. /proc/net/unix lists a socket
  /// by the name that its owner used, possibly through other folders; so only the last component is compared.
  private static let script =
    #"p=$1; d=${p%/*}; b=${p##*/}; if [ -S "$p" ]; then if [ ! -w "$p" ]; then r=denied; else r=there; "#
    + "if [ -r /proc/net/unix ]; then r=stale; while read -r n c q f t s i path; do "
    + #"if [ "$f" = 00010000 ] && [ "${path##*/}" = "$b" ]; then r=there; fi; done < /proc/net/unix; fi; fi; "#
    + #"elif [ -e "$p" ]; then r=other; else while [ -n "$d" ] && [ ! -e "$d" ]; do d=${d%/*}; done; "#
    + #"if [ -x "${d:-/}" ]; then r=missing; else r="closed ${d:-/}"; fi; fi; echo "byway: $r""#

  static func command(for path: String) -> String {
    "exec /bin/sh -c \(ShellWord.quoted(script)) byway \(ShellWord.quoted(path))"
  }

  init?(_ output: some StringProtocol) {
    guard let line = output.split(whereSeparator: \.isNewline).last(where: { $0.hasPrefix("byway: ") }) else {
      return nil
    }
    let words = line.dropFirst(7).split(separator: " ", maxSplits: 1)
    switch words.first {
    case "there": self = .there
    case "stale": self = .stale
    case "denied": self = .denied
    case "missing": self = .missing
    case "other": self = .notASocket
    case "closed" where words.count == 2: self = .closed(folder: String(words[1]).onOneLine)
    default: return nil
    }
  }
}

extension SSHTransport {
  /// Examines the path that an address names, by running a command on the remote host.
  /// - Returns: `nil` if the address has no path, or the server runs no commands for this user.
  package func farSocket(of address: LinkAddress, context: LinkContext) async -> FarSocket? {
    guard let target = try? SSHTarget(address), case .dial(.socket(let path)) = target.purpose,
      let output = try? await output(of: FarSocket.command(for: path), at: target.login, context: context)
    else { return nil }
    return FarSocket(output)
  }
}
