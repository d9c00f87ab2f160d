/// The signature for a login, made elsewhere while libssh2 waits.
final class Signer {
  private enum State {
    case unasked, asked
    /// `nil`: the signature could not be made.
    case finished([UInt8]?)
  }

  let login: PublicKeyLogin
  /// Called once, with the bytes to sign.
  private let wanted: ([UInt8]) -> Void
  private var state = State.unasked

  init(_ login: PublicKeyLogin, wanted: @escaping ([UInt8]) -> Void) {
    self.login = login
    self.wanted = wanted
  }

  /// - Parameter signature: `nil` if it could not be made.
  func finish(_ signature: [UInt8]?) {
    state = .finished(signature)
  }

  /// Asks for the signature at the first call.
  /// - Returns: `nil` while it is being made, and `.some(nil)` if it could not be made.
  func sign(_ bytes: [UInt8]) -> [UInt8]?? {
    switch state {
    case .unasked:
      state = .asked
      wanted(bytes)
      return nil
    case .asked: return nil
    case .finished(let signature): return .some(signature)
    }
  }

  /// The public key for the request. Servers know an RSA key by its type, and accept a SHA-2 signature only if the request
  /// names its algorithm (RFC 8332 §3). libssh2 takes the algorithm's name from the blob.
  var requestBlob: [UInt8] {
    var reader = WireReader(login.blob)
    guard login.algorithm.hasPrefix("rsa-sha2-"), reader.string() != nil else { return login.blob }
    var writer = WireWriter()
    writer.string(login.algorithm.utf8)
    return writer.bytes + reader.rest
  }
}
