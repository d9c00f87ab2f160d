import Dispatch
import Foundation
import FoundationNetworking

/// The body that a task was made with.
enum UploadedBody {
  case none
  case data(DispatchData)
  case file(URL)
  case stream(InputStream)
  /// The delegate makes one whenever it is needed (`needNewBodyStream`).
  case streamOfDelegate

  /// - Parameter value: Foundation's own enumeration, which has the same cases; `nil`: none was given with the task.
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
