import Byway
import BywayDoctor

extension Report {
  /// Whether exactly this fault is found; `nil`: the link is sound.
  func expects(_ fault: LinkFault?) -> Bool {
    switch verdict {
    case .sound: fault == nil
    case .noted(let diagnosis), .wrong(let diagnosis): diagnosis.fault == fault
    case .unfinished: false
    }
  }
}

/// A suite with examinations of links.
protocol ExaminingSuite {
  var transports: TransportRegistry { get }
}

extension ExaminingSuite {
  func examine(_ link: String) async throws -> Report {
    await Doctor(transports).examine(try transports.link(link))
  }
}
