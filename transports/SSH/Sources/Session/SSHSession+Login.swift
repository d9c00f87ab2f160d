import CSSH2
import Glibc

/// The signature for a login, made elsewhere while libssh2 waits.
final class Signer {
  let login: PublicKeyLogin
  /// Called once, with the bytes to sign.
  private let wanted: ([UInt8]) -> Void
  private var isAsked = false
  private(set) var isFinished = false
  private var result: [UInt8]?

  init(_ login: PublicKeyLogin, wanted: @escaping ([UInt8]) -> Void) {
    self.login = login
    self.wanted = wanted
  }

  /// - Parameter signature: `nil` if it could not be made.
  func finish(_ signature: [UInt8]?) {
    isFinished = true
    result = signature
  }

  fileprivate func sign(_ bytes: [UInt8]) -> [UInt8]? {
    if !isAsked {
      isAsked = true
      wanted(bytes)
    }
    return result
  }
}

/// RFC 4252.
extension SSHSession {
  enum Login {
    case accepted
    case denied(LoginStep.Outcome)
  }

  /// Returns the methods that the server offers this user; empty if none is needed, `nil` while unknown.
  func loginMethods(of user: String) throws(SSHError) -> [String]? {
    guard let list = libssh2_userauth_list(handle, user, CUnsignedInt(user.utf8.count)) else {
      if libssh2_userauth_authenticated(handle) != 0 { return [] }
      let error = lastError
      if error.code == LIBSSH2_ERROR_EAGAIN { return nil }
      throw error
    }
    return String(cString: list).split(separator: ",").map { String($0).onOneLine }
  }

  /// Logs in with the key of ``signer``.
  func logInWithKey(as user: String) throws(SSHError) -> Login? {
    guard let signer else { return .denied(.unsigned) }
    return try login(
      libssh2_userauth_publickey(
        handle, user, signer.requestBlob, signer.requestBlob.count,
        { _, signature, count, bytes, size, owner in
          guard let signer = SSHSession.of(owner)?.signer, let bytes, let signature, let count else { return -1 }
          guard let result = signer.sign(Array(UnsafeBufferPointer(start: bytes, count: size))) else {
            return signer.isFinished ? -1 : LIBSSH2_ERROR_EAGAIN
          }
          // libssh2 frees it.
          guard let copy = malloc(max(1, result.count)) else { return LIBSSH2_ERROR_ALLOC }
          result.withUnsafeBytes {
            copy.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(copy), byteCount: $0.count)
          }
          signature.pointee = copy.assumingMemoryBound(to: UInt8.self)
          count.pointee = result.count
          return 0
        }, libssh2_session_abstract(handle)))
  }

  /// Logs in with a locked key. Takes a tenth of a second or more, once the server wants the signature.
  func logIn(as user: String, unlocking login: LockedKeyLogin) throws(SSHError) -> Login? {
    var passphrase = login.passphrase.withBytes { Array($0) } + [0]
    defer { passphrase.wipe() }
    let (publicLine, text) = (login.key.publicLine, login.key.text)
    return try self.login(
      passphrase.withUnsafeBytes { passphrase in
        libssh2_userauth_publickey_frommemory(
          handle, user, user.utf8.count, publicLine, publicLine.utf8.count, text, text.utf8.count,
          passphrase.bindMemory(to: CChar.self).baseAddress)
      })
  }

  func logIn(as user: String, password: Secret) throws(SSHError) -> Login? {
    let code = password.withBytes { bytes in
      libssh2_userauth_password_ex(
        handle, user, CUnsignedInt(user.utf8.count), bytes.bindMemory(to: CChar.self).baseAddress,
        CUnsignedInt(bytes.count), nil)
    }
    return try login(code)
  }

  /// Logs in with the answers of ``keyboard``.
  func logInByKeyboard(as user: String) throws(SSHError) -> Login? {
    try login(
      libssh2_userauth_keyboard_interactive_ex(handle, user, CUnsignedInt(user.utf8.count)) {
        _, _, instruction, instructionCount, count, prompts, responses, owner in
        guard let keyboard = SSHSession.of(owner)?.keyboard, let prompts, let responses else { return }
        let asked = UnsafeBufferPointer(start: prompts, count: Int(count)).map { prompt in
          KeyboardLogin.Prompt(text: text(prompt.text, Int(prompt.length)), echo: prompt.echo != 0)
        }
        let answers = keyboard.answer(text(instruction, Int(instructionCount)), asked)
        for (index, answer) in answers.prefix(Int(count)).enumerated() {
          answer.withBytes { bytes in
            // libssh2 frees it.
            guard let start = bytes.baseAddress, let copy = malloc(max(1, bytes.count)) else { return }
            copy.copyMemory(from: start, byteCount: bytes.count)
            responses[index].text = copy.assumingMemoryBound(to: CChar.self)
            responses[index].length = CUnsignedInt(bytes.count)
          }
        }
      })
  }

  private func login(_ code: CInt) throws(SSHError) -> Login? {
    do {
      return try isDone(code) ? .accepted : nil
    } catch  where error.isUnsigned {
      return .denied(.unsigned)
    } catch  where error.isLocal {
      return .denied(.refused)
    }
  }
}

private func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
  guard let start, count > 0 else { return "" }
  return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
}

extension Signer {
  /// The public key for the request. Servers know an RSA key by its type, and accept a SHA-2 signature only if the request
  /// names its algorithm (RFC 8332 §3). libssh2 takes the algorithm's name from the blob.
  fileprivate var requestBlob: [UInt8] {
    guard login.algorithm.hasPrefix("rsa-sha2-"), login.blob.count > 4 else { return login.blob }
    let typeCount = login.blob.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard typeCount <= login.blob.count - 4 else { return login.blob }
    let name = Array(login.algorithm.utf8)
    return [0, 0, 0, UInt8(name.count)] + name + login.blob.dropFirst(4 + typeCount)
  }
}
