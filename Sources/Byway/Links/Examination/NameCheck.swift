import BywayLibC
import BywayPrimitives
package import NIOCore
import NIOPosix

/// Checks that a host's name resolves to addresses.
package struct NameCheck: LinkCheck {
  package static let title = "name"

  private let host: String
  private let port: Int
  /// The host as the user has written it; ``known`` has the names that may have been meant.
  private let written: String
  private let known: [String]
  /// A further sentence for a name that does not resolve.
  private let advice: String?

  /// - Parameters:
  ///   - written: the name that the user has written, if it is an alias of the host.
  ///   - known: names that may have been meant by a mistyped one.
  package init(host: String, port: Int, written: String? = nil, known: [String] = [], advice: String? = nil) {
    self.host = host
    self.written = written ?? host
    self.port = port
    self.known = known
    self.advice = advice
  }

  package func examine(_ resources: OpenedResources) async throws -> Finding<[SocketAddress]> {
    if let address = try? SocketAddress(ipAddress: host, port: port) {
      return .sound("\(host) is an address.", [address])
    }
    let (host, port) = (host, port)
    let result = try await NIOThreadPool.singleton.runIfActive { Self.resolve(host, port) }
    switch result {
    case .success(let addresses):
      let list = addresses.compactMap(\.ipAddress).joined(separator: ", ")
      return .sound("\(host) is \(list).", addresses)
    case .failure(let failure):
      return .wrong(diagnosis(failure))
    }
  }

  private struct Failure: Error {
    let code: CInt
  }

  private func diagnosis(_ failure: Failure) -> Diagnosis {
    let more = advice.map { " \($0)" } ?? ""
    switch failure.code {
    case EAI_AGAIN:
      return Diagnosis(
        .noNameService,
        "No name server answers for \(host): check that this machine is on a network, or use the IP address.\(more)"
      )
    case EAI_NONAME, eaiNoData:
      let hint = Spelling.nearest(to: written, among: known).map { " Did you mean \"\($0)\"?" } ?? ""
      return Diagnosis(
        .unknownName, "No machine is called \(host.visible): check the spelling, or use the IP address.\(hint)\(more)")
    default:
      return Diagnosis(
        .unknownName, "\(host.visible) cannot be resolved: \(String(cString: gai_strerror(failure.code))).\(more)")
    }
  }

  /// Resolves a name. Blocks the thread.
  private static func resolve(_ host: String, _ port: Int) -> Result<[SocketAddress], Failure> {
    var hints = addrinfo()
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, "\(port)", &hints, &list)
    guard code == 0 else { return .failure(Failure(code: code)) }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let address = SocketAddress(entry), !addresses.contains(address) { addresses.append(address) }
      next = entry.ai_next
    }
    return addresses.isEmpty ? .failure(Failure(code: EAI_NONAME)) : .success(addresses)
  }
}

/// EAI_NODATA, a name without addresses. The C library declares it only with GNU extensions.
private let eaiNoData: CInt = -5

extension SocketAddress {
  fileprivate init?(_ entry: addrinfo) {
    guard let address = entry.ai_addr else { return nil }
    switch entry.ai_family {
    case AF_INET: self.init(address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee })
    case AF_INET6: self.init(address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee })
    default: return nil
    }
  }
}
