import Glibc

/// A moment of the calendar, as messages and files name it. Not for measuring: the clock may be set meanwhile.
package struct WallTime: Hashable, Comparable, Sendable {
  /// Since the beginning of 1970 in UTC.
  package var sinceEpoch: Duration

  package init(sinceEpoch: Duration) {
    self.sinceEpoch = sinceEpoch
  }

  package static func now() -> WallTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(sinceEpoch: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
  }

  package static func < (left: WallTime, right: WallTime) -> Bool { left.sinceEpoch < right.sinceEpoch }
  package static func - (left: WallTime, right: WallTime) -> Duration { left.sinceEpoch - right.sinceEpoch }
  package static func + (left: WallTime, right: Duration) -> WallTime {
    WallTime(sinceEpoch: left.sinceEpoch + right)
  }

  /// Whole seconds since 1970, as much as HTTP's dates tell.
  package var seconds: Int { Int(sinceEpoch.components.seconds) }
}

// MARK: HTTP's dates (RFC 9110 §5.6.7)

extension WallTime {
  /// Any of the three forms that are to be understood; `nil` where it is none, or no day of the calendar.
  package init?(httpDate text: String) {
    let words = text.split { " ,-:".contains($0) }.map(String.init)
    let parsed: Calendar? =
      switch words.count {
      // Sun Nov  6 08:49:37 1994
      case 7 where words[1].count == 3 && Int(words[1]) == nil:
        Calendar(year: words[6], month: words[1], day: words[2], time: words[3...5])
      // Sun, 06 Nov 1994 08:49:37 GMT, and Sunday, 06-Nov-94 08:49:37 GMT
      case 8 where words[7] == "GMT" || words[7] == "UTC":
        Calendar(year: words[3], month: words[2], day: words[1], time: words[4...6])
      default: nil
      }
    guard let parsed else { return nil }
    sinceEpoch = .seconds(parsed.secondsSinceEpoch)
  }

  /// The form to send: `Sun, 06 Nov 1994 08:49:37 GMT`.
  package var httpDate: String {
    let calendar = Calendar(secondsSinceEpoch: seconds)
    let (day, month) = (Calendar.days[calendar.weekday], Calendar.months[calendar.month - 1])
    return "\(day), \(two(calendar.day)) \(month) \(four(calendar.year)) \(calendar.timeOfDay) GMT"
  }

  /// `1994-11-06T08:49:37.123Z` (RFC 3339).
  package var timestamp: String {
    let calendar = Calendar(secondsSinceEpoch: seconds)
    let milliseconds = Int(sinceEpoch.components.attoseconds / 1_000_000_000_000_000)
    let fraction = String(1000 + milliseconds).dropFirst()
    return "\(four(calendar.year))-\(two(calendar.month))-\(two(calendar.day))T\(calendar.timeOfDay).\(fraction)Z"
  }
}

/// A day of the Gregorian calendar and a time of that day, in UTC.
private struct Calendar {
  static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  var year: Int
  var month: Int
  var day: Int
  var secondOfDay: Int
  /// From Thursday on, which 1 January 1970 was.
  var weekday = 0

  init?(year: String, month: String, day: String, time: ArraySlice<String>) {
    let numbers = time.compactMap { Int($0) }
    guard let year = Int(year), let month = Self.months.firstIndex(of: month), let day = Int(day), numbers.count == 3,
      (0...9999).contains(year), (1...31).contains(day), (0...23).contains(numbers[0]), (0...59).contains(numbers[1]),
      (0...60).contains(numbers[2])
    else { return nil }
    // Two digits are of the century that puts them nearest to now; this reads them as POSIX does.
    self.year = year >= 100 ? year : year + (year < 70 ? 2000 : 1900)
    self.month = month + 1
    self.day = day
    secondOfDay = (numbers[0] * 60 + numbers[1]) * 60 + numbers[2]
    // The 31st of June is no day.
    guard Calendar(secondsSinceEpoch: daysSinceEpoch * 86_400).day == day else { return nil }
  }

  /// Counts eras of 400 years, each as long as any other, from 1 March of the year 0.
  init(secondsSinceEpoch: Int) {
    let days = secondsSinceEpoch >= 0 ? secondsSinceEpoch / 86_400 : (secondsSinceEpoch - 86_399) / 86_400
    secondOfDay = secondsSinceEpoch - days * 86_400
    weekday = ((days % 7) + 7) % 7
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  var secondsSinceEpoch: Int { daysSinceEpoch * 86_400 + secondOfDay }

  var timeOfDay: String { "\(two(secondOfDay / 3600)):\(two(secondOfDay / 60 % 60)):\(two(secondOfDay % 60))" }

  private var daysSinceEpoch: Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

private func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
private func four(_ number: Int) -> String {
  String(repeating: "0", count: max(0, 4 - "\(number)".count)) + "\(number)"
}
