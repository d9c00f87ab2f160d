package import Byway
import NIOCore
import Primitives

/// What stands at the path of a Unix socket on the far machine, as its shell sees it. An SSH server says only that it could not
/// connect.
package enum FarSocket: Sendable, Hashable {
  /// Somebody listens there, as far as can be seen, and the user may connect.
  case there
  /// Nobody listens any more.
  case stale
  case denied
  case missing
  case notASocket
  /// The user may not look into that folder.
  case closed(folder: String)

  /// Looks, and changes nothing. What is written begins with a mark, because a shell may greet before.
  /// A socket is listed by the name that its owner has given it, which may lead there by other folders.
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
  /// What stands at the path that an address names, as a command of the far machine sees it.
  /// - Returns: `nil` where it names none, or the server runs no commands for this user.
  package func farSocket(of address: LinkAddress, context: LinkContext) async -> FarSocket? {
    guard let target = try? SSHTarget(address), case .dial(.socket(let path)) = target.purpose,
      let output = try? await output(of: FarSocket.command(for: path), at: target.login, context: context)
    else { return nil }
    return FarSocket(output)
  }
}
