package import Byway

/// The reason why a credential could not be used to log in.
package enum LoginProblem: Sendable {
  /// An error of the agent, or of a request to it.
  case agent(path: String, BywayError)
  /// Certificates and hardware keys, which need more than libssh2 1.10 sends.
  case agentKinds
  case file(path: String, KeyFile.Problem)
  /// Only the public half of a key exists, and the agent does not hold the private half.
  case publicHalf(path: String)
  case keyType(path: String, String)
  case signature(BywayError)
}

extension LoginProblem: CustomStringConvertible {
  /// A whole sentence.
  package var description: String {
    switch self {
    case .agent(_, let error), .signature(let error): error.message
    case .agentKinds: "Certificates and hardware keys in the ssh-agent are not supported."
    case .file(let path, let problem): "\(path): \(problem)."
    case .publicHalf(let path):
      "\(path): only the public half is there, and the ssh-agent does not have the private one."
    case .keyType(let path, let type): "\(path): a key of type \(type) is not supported."
    }
  }
}
