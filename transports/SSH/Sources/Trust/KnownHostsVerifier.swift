import Byway
import BywayPrimitives
import Logging
import Synchronization

/// Trusts the keys that known_hosts files list. With `accept-new`, it adds a host that none of them lists.
struct KnownHostsVerifier: HostKeyVerifier {
  /// Larger than any real file, and small enough for memory.
  static let fileLimit = 64 << 20

  /// Held from the lookup to the write, so that one of several connections to a new host decides which key is listed.
  private static let writing = Mutex(())

  private let host: String
  private let port: Int
  private let files: Files
  private let keyChecking: HostSettings.KeyChecking
  private let hashesNames: Bool
  private let logger: Logger
  private let known: KnownHosts
  private let page: SSHJournal.Page?

  fileprivate struct Files: Sendable {
    let user: [String]
    let global: [String]
  }

  /// Reads the files off the event loop.
  /// - Parameter page: the journal page if the session is examined; then nothing is written.
  /// - Throws: if a file exists and cannot be read, because it may contain a revocation.
  init(_ settings: HostSettings, logger: Logger, page: SSHJournal.Page? = nil) async throws(BywayError) {
    self.page = page
    host = settings.hostKeyAlias ?? settings.host
    // An alias names one machine, whatever its port.
    port = settings.hostKeyAlias == nil ? settings.port : 22
    files = Files(user: settings.userKnownHosts, global: settings.globalKnownHosts)
    keyChecking = settings.keyChecking
    hashesNames = settings.hashesKnownHosts
    self.logger = logger
    let name = KnownHostName(host: host, port: port)
    known = try await Blocking.run { [files] () throws(BywayError) in try files.read(for: name) }
    if known.badLines.count > 0 {
      let places = known.badLines.first.map(\.description).joined(separator: ", ")
      logger.debug("Skipped \(known.badLines.count) lines of known hosts that cannot be read, first \(places).")
    }
  }

  var preferredAlgorithms: [String] { known.algorithms }

  func verify(_ blob: [UInt8]) async throws(BywayError) {
    guard let key = PublicKey(blob) else {
      throw BywayError(
        .protocolViolation, "\(known.name) sent a host key that cannot be read.", processing: .none)
    }
    let refusal = HostKeyRefusal(host: host, port: port, key: key, files: files.user + files.global)
    let verdict = known.verify(key)
    page?.note { $0.hostKey = SSHHop.HostKey(key: key, verdict: verdict) }
    switch verdict {
    case .unknown where keyChecking == .acceptNew && page != nil:
      return
    case .unknown where keyChecking == .acceptNew:
      try await Blocking.run { () throws(BywayError) in
        try Self.writing.withLock { _ throws(BywayError) in try accept(key, refusal) }
      }
    case let verdict:
      try refusal.check(verdict)
    }
  }

  /// Adds the host, unless another connection has added it since the files were read. Blocks.
  private func accept(_ key: PublicKey, _ refusal: HostKeyRefusal) throws(BywayError) {
    let verdict = try files.read(for: known.name).verify(key)
    guard case .unknown = verdict else { return try refusal.check(verdict) }
    guard let file = files.user.first else { throw refusal.nowhereToWrite(nil) }
    guard known.name.isLiteral else { throw refusal.noName }
    let names: KnownHostsLine.Names =
      hashesNames ? .init(hashing: known.name) : .patterns([known.name.description])
    do {
      try SmallFile.append(line: KnownHostsLine(marker: nil, names: names, key: key).description, to: file)
    } catch {
      throw refusal.nowhereToWrite((file, error))
    }
    logger.notice("\(known.name) is new and was added to \(file) with its key \(key).")
  }
}

extension KnownHostsVerifier.Files {
  fileprivate func read(for name: KnownHostName) throws(BywayError) -> KnownHosts {
    var known = KnownHosts(for: name)
    for file in user + global {
      do {
        known.read(try SmallFile(file, limit: KnownHostsVerifier.fileLimit).bytes, from: file)
      } catch .missing {
        continue
      } catch {
        var failure = BywayError(
          .linkUnavailable, "Cannot read the known hosts in \(file): \(error).", processing: .none, cause: error)
        failure.evidence = UnusableFile(path: file)
        throw failure
      }
    }
    return known
  }
}
