import Byway
import Logging
import NIOCore

/// The credentials for one connection, in the order to try them: agent keys, key files, then answers from the user or an
/// environment variable.
actor LoginPlan {
  /// The same number as in ssh (`NumberOfPasswordPrompts`).
  private static let maximumQuestions = 3

  private let settings: HostSettings
  private let sources: LoginSources
  private let deadline: NIODeadline
  private let logger: Logger
  private var keys: LoginKeys?
  private var unlocking: KeyUnlocking?
  private var passwordAttempts = 0
  private var conversation: KeyboardConversation?
  private var conversations = 0
  private(set) var report: LoginReport

  /// - Parameter deadline: when every wait must have ended, prompts included.
  init(
    _ settings: HostSettings, group: any EventLoopGroup, logger: Logger, deadline: NIODeadline,
    sources: LoginSources? = nil
  ) {
    self.settings = settings
    var sources = sources ?? LoginSources(group: group)
    if settings.asksNobody { sources.prompter = BatchModePrompter() }
    self.sources = sources
    self.deadline = deadline
    self.logger = logger
    report = LoginReport(settings)
  }

  /// The next attempt; `nil` if there are no more. ``failure(serverOffers:)`` then returns the reason.
  ///
  /// - Parameters:
  ///   - serverOffers: the methods that the server currently accepts, such as `publickey` and `password`.
  ///   - outcome: the outcome of the previous attempt, if any.
  /// - Throws: if continuing is useless: the user does not answer, or a variable named in the address is not set.
  func next(
    serverOffers: [String], after outcome: LoginStep.Outcome = .refused
  ) async throws(BywayError) -> LoginStep? {
    if let login = try await nextUnlocking(after: outcome) { return .lockedKey(login) }
    if serverOffers.contains("publickey"), let login = try await nextKey() {
      report.tried.append(login.name)
      return .publicKey(login)
    }
    if serverOffers.contains("password"), let password = try await nextPassword() {
      report.tried.append("a password")
      return .password(password)
    }
    // If the server offers both, the questions would be about the same password again.
    if serverOffers.contains("keyboard-interactive"), !serverOffers.contains("password"),
      let login = try await nextConversation()
    {
      report.tried.append("keyboard-interactive")
      return .keyboardInteractive(login)
    }
    return nil
  }

  /// An error with the credentials tried, the reasons why others were not tried, and the methods that the server offered.
  func failure(serverOffers: [String]) -> BywayError { report.failure(serverOffers: serverOffers) }

  private func nextKey() async throws(BywayError) -> PublicKeyLogin? {
    if keys == nil {
      let gathered = try await LoginKeys.gather(settings, sources, until: deadline)
      for loginProblem in gathered.problems { logger.debug("\(loginProblem)") }
      report.problems += gathered.problems
      keys = gathered
    }
    guard let key = keys?.next() else { return nil }
    return PublicKeyLogin(
      name: key.name, algorithm: key.publicKey.signatureAlgorithm, blob: key.publicKey.blob,
      sign: { (bytes) async throws(BywayError) in try await self.sign(bytes, with: key) })
  }

  private func sign(_ bytes: [UInt8], with key: LoginKeys.Key) async throws(BywayError) -> [UInt8]? {
    do throws(BywayError) {
      switch key.holder {
      case .agent(let agent):
        return try await agent.sign(
          bytes, with: key.publicKey, algorithm: key.publicKey.signatureAlgorithm, until: deadline)
      case .file(let signingKey):
        return try await Blocking.run { () throws(BywayError) in
          do {
            return try signingKey.sign(bytes)
          } catch {
            throw BywayError(.linkUnavailable, "\(key.name) cannot sign.", processing: .none, cause: error)
          }
        }
      case .lockedFile(let lockedKey, let path):
        unlocking = KeyUnlocking(key: lockedKey, name: key.name, path: path)
        return nil
      }
    } catch {
      report.problems.append(.signature(error))
      throw error
    }
  }

  /// Another attempt with the locked key that the server would accept, while only its passphrase is wrong.
  private func nextUnlocking(after outcome: LoginStep.Outcome) async throws(BywayError) -> LockedKeyLogin? {
    guard outcome == .unsigned, let unlocking else {
      unlocking = nil
      return nil
    }
    switch try await unlocking.next(settings, sources, until: deadline) {
    case .success(let passphrase):
      self.unlocking?.attempts += 1
      return LockedKeyLogin(name: unlocking.name, key: unlocking.key, passphrase: passphrase)
    case .failure(let problem):
      self.unlocking = nil
      report.leftLocked(unlocking, problem)
      return nil
    }
  }

  /// The key for a typed password in ``LoginMemory``.
  private var purpose: String { "\(settings.user)@[\(settings.host)]:\(settings.port)" }

  private func nextPassword() async throws(BywayError) -> Secret? {
    passwordAttempts += 1
    return try await password(attempt: passwordAttempts)
  }

  private func nextConversation() async throws(BywayError) -> KeyboardLogin? {
    conversations += 1
    let questions = conversation?.asked ?? []
    let conversation: KeyboardConversation
    if settings.password == nil, !questions.isEmpty {
      guard conversations <= Self.maximumQuestions else { return nil }
      var answers: [Secret] = []
      for question in questions {
        let text = "(\(settings.user)@\(settings.alias)) \(question.text)"
        guard let answer = try await sources.prompter.ask(text, echo: question.echo, until: deadline) else {
          return nil
        }
        answers.append(answer)
      }
      // The stored password, if any, was not accepted.
      sources.memory[purpose] = nil
      conversation = KeyboardConversation(answers: zip(questions, answers).map { $0 })
    } else {
      guard let password = try await password(attempt: conversations) else { return nil }
      conversation = KeyboardConversation(password: password)
    }
    self.conversation = conversation
    return KeyboardLogin { _, prompts in conversation.answer(prompts) }
  }

  /// The password from the variable, once; or from the user, who is asked again only after a wrong answer.
  private func password(attempt: Int) async throws(BywayError) -> Secret? {
    if let source = settings.password {
      return attempt == 1 ? try sources.secret(source, for: "password") : nil
    }
    if attempt == 1, let password = sources.memory[purpose] { return password }
    sources.memory[purpose] = nil
    guard attempt <= Self.maximumQuestions else { return nil }
    let question = "\(settings.user)@\(settings.alias)'s password: "
    let answer = try await sources.prompter.ask(question, echo: false, until: deadline)
    sources.memory[purpose] = answer
    if answer == nil { report.lacksPassword = true }
    return answer
  }
}
