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
  /// Any of the three forms that are to be understood, in letters of either case; `nil` where it is none, or no day of
  /// the calendar. What nearly is a date is none: an `Expires` of that kind is in the past (RFC 9111 §5.3).
  package init?(httpDate text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let calendar: Calendar?
    switch words.count {
    // Sun, 06 Nov 1994 08:49:37 GMT
    case 6 where words[0].utf8.count == 4 && words[0].hasSuffix(","):
      guard words[5].lowercased() == "gmt" else { return nil }
      calendar = Calendar(
        year: number(words[3], digits: 4), month: words[2], day: number(words[1], digits: 2), time: words[4])
    // Sunday, 06-Nov-94 08:49:37 GMT
    case 4 where words[0].hasSuffix(","):
      let day = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard words[3].lowercased() == "gmt", day.count == 3, let year = number(day[2], digits: 2) else { return nil }
      // Two digits are of the century that puts them nearest to now; this reads them as POSIX does.
      calendar = Calendar(
        year: year + (year < 70 ? 2000 : 1900), month: day[1], day: number(day[0], digits: 2), time: words[2])
    // Sun Nov  6 08:49:37 1994
    case 6 where words[2].isEmpty:
      calendar = Calendar(
        year: number(words[5], digits: 4), month: words[1], day: number(words[3], digits: 1), time: words[4])
    // Sun Nov 16 08:49:37 1994
    case 5:
      calendar = Calendar(
        year: number(words[4], digits: 4), month: words[1], day: number(words[2], digits: 2), time: words[3])
    default:
      return nil
    }
    guard let calendar else { return nil }
    sinceEpoch = .seconds(calendar.secondsSinceEpoch)
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

  init?(year: Int?, month: Substring, day: Int?, time: Substring) {
    let parts = time.split(separator: ":", omittingEmptySubsequences: false).compactMap { number($0, digits: 2) }
    let name = month.lowercased()
    guard let year, let day, let month = Self.months.firstIndex(where: { $0.lowercased() == name }), parts.count == 3,
      time.utf8.count == 8, parts[0] < 24, parts[1] < 60, parts[2] <= 60
    else { return nil }
    self.year = year
    self.month = month + 1
    self.day = day
    secondOfDay = (parts[0] * 60 + parts[1]) * 60 + parts[2]
    // The 31st of June is not a day.
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

private func number(_ text: Substring, digits: Int) -> Int? {
  guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
  return Int(text)
}

private func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
private func four(_ number: Int) -> String {
  String(repeating: "0", count: max(0, 4 - "\(number)".count)) + "\(number)"
}
