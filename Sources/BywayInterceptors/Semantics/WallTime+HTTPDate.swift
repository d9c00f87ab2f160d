package import BywayPrimitives

// HTTP's dates (RFC 9110 §5.6.7).
extension WallTime {
  /// Reads any of the three forms of a date, in letters of either case. Returns `nil` for other text, or for a day that does not
  /// exist. An almost correct date is not a date: an `Expires` of that kind is in the past (RFC 9111 §5.3).
  package init?(httpDate text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let calendar: CalendarTime?
    switch words.count {
    // Sun, 06 Nov 1994 08:49:37 GMT
    case 6 where words[0].utf8.count == 4 && words[0].hasSuffix(","):
      guard words[5].lowercased() == "gmt" else { return nil }
      calendar = CalendarTime(
        year: number(words[3], digits: 4), month: words[2], day: number(words[1], digits: 2), time: words[4])
    // Sunday, 06-Nov-94 08:49:37 GMT
    case 4 where words[0].hasSuffix(","):
      let day = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard words[3].lowercased() == "gmt", day.count == 3, let year = number(day[2], digits: 2) else { return nil }
      // RFC 9110 goes by the distance to the current year; this reads two digits as POSIX does.
      calendar = CalendarTime(
        year: year + (year < 70 ? 2000 : 1900), month: day[1], day: number(day[0], digits: 2), time: words[2])
    // Sun Nov  6 08:49:37 1994
    case 6 where words[2].isEmpty:
      calendar = CalendarTime(
        year: number(words[5], digits: 4), month: words[1], day: number(words[3], digits: 1), time: words[4])
    // Sun Nov 16 08:49:37 1994
    case 5:
      calendar = CalendarTime(
        year: number(words[4], digits: 4), month: words[1], day: number(words[2], digits: 2), time: words[3])
    default:
      return nil
    }
    guard let calendar else { return nil }
    self.init(sinceEpoch: .seconds(calendar.secondsSinceEpoch))
  }

  /// The form to send: `Sun, 06 Nov 1994 08:49:37 GMT`.
  package var httpDate: String {
    let calendar = CalendarTime(secondsSinceEpoch: seconds)
    let (weekday, month) = (CalendarTime.days[calendar.weekday], calendar.monthName)
    let (day, year) = (String(calendar.day, digits: 2), String(calendar.year, digits: 4))
    return "\(weekday), \(day) \(month) \(year) \(calendar.timeOfDay) GMT"
  }
}

extension CalendarTime {
  fileprivate static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

  fileprivate init?(year: Int?, month: Substring, day: Int?, time: Substring) {
    let parts = time.split(separator: ":", omittingEmptySubsequences: false).compactMap { number($0, digits: 2) }
    let name = month.lowercased()
    guard let year, let day, let month = Self.months.firstIndex(where: { $0.lowercased() == name }), parts.count == 3,
      time.utf8.count == 8, parts[0] < 24, parts[1] < 60, parts[2] <= 60
    else { return nil }
    self.init(
      year: year, month: month + 1, day: day, secondOfDay: (parts[0] * 60 + parts[1]) * 60 + parts[2])
  }
}

private func number(_ text: Substring, digits: Int) -> Int? {
  guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
  return Int(text)
}
