import BywayLibC
import CBywaySSH2

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
          guard let answer = signer.sign(Array(UnsafeBufferPointer(start: bytes, count: size))) else {
            return LIBSSH2_ERROR_EAGAIN
          }
          guard let result = answer else { return -1 }
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
          KeyboardLogin.Prompt(text: String(prompt.text, count: Int(prompt.length)), echo: prompt.echo != 0)
        }
        let answers = keyboard.answer(String(instruction, count: Int(instructionCount)), asked)
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

extension String {
  /// The text of the server; empty if the count is not positive.
  fileprivate init(_ start: UnsafePointer<CChar>?, count: Int) {
    let count = start == nil ? 0 : Swift.max(count, 0)
    self.init(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }
}
