import Byway
import BywayPrimitives

/// The error for a refused host key: the fingerprints, and what to do.
struct HostKeyRefusal: Sendable {
  let host: String
  let port: Int
  let key: PublicKey
  /// The files searched.
  let files: [String]

  private var name: KnownHostName { KnownHostName(host: host, port: port) }

  /// Returns if the verdict is "trusted".
  func check(_ verdict: KnownHosts.Verdict) throws(BywayError) {
    switch verdict {
    case .trusted: return
    case .unknown: throw unknown
    case .changed(let entries): throw changed(entries)
    case .revoked(let place):
      throw refusal(
        "The host key of \(name), \(key), is revoked by \(place): do not trust what answers there.")
    case .certificateAuthority(let place):
      throw refusal(
        "\(name) is known by its @cert-authority in \(place) only, and host certificates are not supported here. "
          + "Its key is \(key): compare that with what \"ssh-keygen -l\" prints at the host, then \(add).")
    }
  }

  /// - Parameter failure: `nil` if there is no file to write to.
  func nowhereToWrite(_ failure: (file: String, error: SmallFile.Failure)?) -> BywayError {
    let reason = failure.map { "\($0.file) cannot be written: \($0.error)" } ?? "there is no file to add it to"
    return refusal(
      "\(name) is new, with its key \(key), but \(reason). Name another file with known_hosts=FILE.")
  }

  /// The error for a name that, as a line of known_hosts, would match other hosts.
  var noName: BywayError {
    refusal("\(name) is new and cannot be added, because it is not a valid host name: check its spelling.")
  }

  private var unknown: BywayError {
    let places = files.isEmpty ? "no file of known hosts" : files.joined(separator: ", ")
    return refusal(
      "\(name) is not a known host: its key \(key) is not listed (\(places)). Compare it with what "
        + "\"ssh-keygen -l\" prints at the host, then \(add), or let host-key-checking=accept-new in the link do that.")
  }

  private func changed(_ entries: [KnownHosts.Entry]) -> BywayError {
    let sameType = entries.filter { $0.line.key.type == key.type }
    let relevant = sameType.isEmpty ? entries : sameType
    let listed = relevant.prefix(4).map { "\($0.line.key) in \($0.place)" }.joined(separator: ", ")
    let file = relevant.first.map { " -f \($0.place.file)" } ?? ""
    let what =
      sameType.isEmpty
      ? "\(name) shows a host key of a different type from the one listed" : "The host key of \(name) has changed"
    return refusal(
      "\(what): it shows \(key), listed is \(listed). Either the host was reinstalled, or an attacker intercepts the connection. "
        + "If the new key is right, remove the old one: ssh-keygen -R '\(name)'\(file).")
  }

  private var add: String {
    let portArgument = port == 22 ? "" : "-p \(port) "
    return "add it: ssh-keyscan \(portArgument)\(host) >> \(files.first ?? "~/.ssh/known_hosts")"
  }

  private func refusal(_ message: String) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none)
  }
}
