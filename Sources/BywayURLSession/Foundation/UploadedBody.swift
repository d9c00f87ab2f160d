import Dispatch
import Foundation
import FoundationNetworking

/// The body that a task was created with.
enum UploadedBody {
  case none
  case data(DispatchData)
  case file(URL)
  case stream(InputStream)
  /// The delegate creates a stream each time one is needed (`needNewBodyStream`).
  case streamOfDelegate

  /// - Parameter value: Foundation's own enumeration, which has the same cases; `nil` if the task was created without a body.
  init(_ value: Any?) {
    guard let value else {
      self = .streamOfDelegate
      return
    }
    switch Mirror(reflecting: value).children.first?.value {
    case let data as DispatchData: self = .data(data)
    case let file as URL: self = .file(file)
    case let stream as InputStream: self = .stream(stream)
    default: self = .none
    }
  }
}
