import Synchronization

/// Answers the questions of one keyboard-interactive attempt (RFC 4256), and stores them for the next one: libssh2 needs the
/// answers at once, and a user takes longer.
final class KeyboardConversation: Sendable {
  /// Limits the questions of a server, which may ask any number.
  private static let maximumQuestions = 32

  private struct State {
    var asked: [KeyboardLogin.Prompt] = []
    var answers: [(prompt: KeyboardLogin.Prompt, answer: Secret)]
  }

  /// The answer to each hidden question that has no answer of its own.
  private let password: Secret?
  private let state: Mutex<State>

  init(password: Secret) {
    self.password = password
    state = Mutex(State(answers: []))
  }

  init(answers: [(prompt: KeyboardLogin.Prompt, answer: Secret)]) {
    password = nil
    state = Mutex(State(answers: answers))
  }

  /// The questions that the server has asked so far.
  var asked: [KeyboardLogin.Prompt] { state.withLock { $0.asked } }

  func answer(_ prompts: [KeyboardLogin.Prompt]) -> [Secret] {
    state.withLock { state in
      prompts.map { prompt in
        if state.asked.count < Self.maximumQuestions { state.asked.append(prompt) }
        // The same question may occur twice, with an answer for each.
        if let index = state.answers.firstIndex(where: { $0.prompt == prompt }) {
          return state.answers.remove(at: index).answer
        }
        return prompt.echo ? Secret([]) : password ?? Secret([])
      }
    }
  }
}
