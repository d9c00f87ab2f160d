import BywayLibC

/// A day of the Gregorian calendar and a time of that day, in UTC.
package struct CalendarTime: Sendable, Hashable {
  package let year: Int
  /// The month, from 1.
  package let month: Int
  package let day: Int
  package let secondOfDay: Int
  /// The day of the week; Sunday is 0.
  package let weekday: Int
  package let secondsSinceEpoch: Int

  /// The times with a year of four digits, which is the range of dates in messages and files.
  private static let range = -62_167_219_200...253_402_300_799

  /// - Parameter secondsSinceEpoch: Seconds since 1970. A time before the year 0 becomes its beginning; one after 9999, its end.
  package init(secondsSinceEpoch: Int) {
    self.secondsSinceEpoch = min(max(secondsSinceEpoch, Self.range.lowerBound), Self.range.upperBound)
    var moment = time_t(self.secondsSinceEpoch)
    var parts = tm()
    gmtime_r(&moment, &parts)
    year = Int(parts.tm_year) + 1900
    month = Int(parts.tm_mon) + 1
    day = Int(parts.tm_mday)
    secondOfDay = (Int(parts.tm_hour) * 60 + Int(parts.tm_min)) * 60 + Int(parts.tm_sec)
    weekday = Int(parts.tm_wday)
  }

  /// Returns `nil` if there is no such day: the 31st of June.
  /// - Parameter secondOfDay: One second more than the day has is the next day's first, as a leap second is.
  package init?(year: Int, month: Int, day: Int, secondOfDay: Int) {
    guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
    var parts = tm()
    parts.tm_year = CInt(year - 1900)
    parts.tm_mon = CInt(month - 1)
    parts.tm_mday = CInt(day)
    let midnight = timegm(&parts)
    guard Self(secondsSinceEpoch: midnight).day == day else { return nil }
    self.init(secondsSinceEpoch: midnight + secondOfDay)
  }

  /// `1994-11-06`
  package var date: String { "\(String(year, digits: 4))-\(String(month, digits: 2))-\(String(day, digits: 2))" }

  /// `08:49:37`
  package var timeOfDay: String {
    [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { String($0, digits: 2) }.joined(separator: ":")
  }

  /// `1994-11-06T08:49:37`
  package var dateAndTime: String { "\(date)T\(timeOfDay)" }

  /// `1994-11-06T08:49:37Z` (RFC 3339)
  package var utc: String { "\(dateAndTime)Z" }

  /// The names of the months in HTTP and in logs.
  package static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Nov`
  package var monthName: String { Self.months[month - 1] }
}
