import Byway
import BywayPrimitives
import NIOCore
import NIOPosix

/// A client of an ssh-agent (draft-ietf-sshm-ssh-agent): requests its keys and signatures. Each request has a connection of its
/// own, so an agent that dies or stops answering fails only that request.
struct AgentClient: Sendable {
  struct Identity: Sendable, Hashable {
    let key: PublicKey
    let comment: String
  }

  private enum Message {
    static let requestIdentities: UInt8 = 11
    static let identitiesAnswer: UInt8 = 12
    static let signRequest: UInt8 = 13
    static let signResponse: UInt8 = 14
  }

  /// Requests SHA-2 for an RSA signature (RFC 8332 §3).
  private static let rsaSHA512: UInt32 = 4
  private static let maximumIdentities = 256

  let path: String
  let group: any EventLoopGroup

  /// The agent's keys, in its order, without those that cannot be read.
  func identities(until deadline: NIODeadline) async throws(BywayError) -> [Identity] {
    let answer = try await ask([Message.requestIdentities], until: deadline)
    var reader = WireReader(answer)
    guard reader.byte() == Message.identitiesAnswer, let count = reader.uint32(), count <= Self.maximumIdentities else {
      throw problem("does not list its keys: is it locked?")
    }
    var identities: [Identity] = []
    for _ in 0..<count {
      guard let blob = reader.string(), let comment = reader.string() else {
        throw problem("sent a list of keys that cannot be read.")
      }
      guard let key = PublicKey(Array(blob)) else { continue }
      identities.append(Identity(key: key, comment: Self.printable(comment)))
    }
    return identities
  }

  /// The signature itself, without the name of its algorithm.
  func sign(
    _ bytes: [UInt8], with key: PublicKey, algorithm: String, until deadline: NIODeadline
  ) async throws(BywayError) -> [UInt8] {
    var request = WireWriter()
    request.byte(Message.signRequest)
    request.string(key.blob)
    request.string(bytes)
    request.uint32(algorithm == "rsa-sha2-512" ? Self.rsaSHA512 : 0)
    var reader = WireReader(try await ask(request.bytes, until: deadline))
    guard reader.byte() == Message.signResponse, let signature = reader.string() else {
      throw problem("refused to sign with \(key): was that confirmed, and is the key still there?")
    }
    var inner = WireReader(signature)
    guard let name = inner.text(), let value = inner.string(), !value.isEmpty else {
      throw problem("sent a signature that cannot be read.")
    }
    guard name == algorithm else {
      throw problem("signs with \(name) where \(algorithm) was asked for: it is too old.")
    }
    return Array(value)
  }

  private func ask(_ request: [UInt8], until deadline: NIODeadline) async throws(BywayError) -> [UInt8] {
    let loop = group.next()
    let answer = loop.makePromise(of: [UInt8].self)
    let timeout = loop.scheduleTask(deadline: deadline) { answer.fail(AgentExchange.Failure.silence) }
    let connecting = UnixBacklog.connect(on: loop, by: deadline) { [path] in
      ClientBootstrap(group: loop)
        .connectTimeout(max(.nanoseconds(1), deadline - .now()))
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(AgentExchange(request: request, answer: answer))
          }
        }
        .connect(unixDomainSocketPath: path)
    }
    connecting.whenFailure { answer.fail($0) }
    answer.futureResult.whenComplete { _ in
      timeout.cancel()
      connecting.whenSuccess { $0.close(promise: nil) }
    }
    do {
      return try await answer.futureResult.get()
    } catch {
      throw explain(error)
    }
  }

  private func explain(_ error: any Error) -> BywayError {
    switch error {
    case AgentExchange.Failure.silence, ChannelError.connectTimeout: problem("did not answer in time.", error)
    case AgentExchange.Failure.ended: problem("ended without an answer: has it died?", error)
    case AgentExchange.Failure.unreadable: problem("sent something that is not an agent's answer.", error)
    default: problem("cannot be reached: is it running?", error)
    }
  }

  private func problem(_ what: String, _ cause: (any Error)? = nil) -> BywayError {
    BywayError(.linkUnavailable, "The ssh-agent at \(path) \(what)", processing: .none, cause: cause)
  }

  /// Sanitizes a comment, which appears in messages.
  private static func printable(_ comment: ArraySlice<UInt8>) -> String {
    String(decoding: comment.prefix(80), as: UTF8.self).visible
  }
}
