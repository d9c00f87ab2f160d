package import BywayDaemonProcess
import BywayPrimitives
import BywayTerminal
import Logging

extension Daemon {
  /// Changes to the current content of the file. Logs errors, and keeps the previous configuration in that case.
  package func reload() async -> ReloadResult {
    await reloads.request { await self.reloadNow() }.value
  }

  private func reloadNow() async -> ReloadResult {
    guard stopping == nil else { return .refused([CommandFailure(.unavailable, "It is stopping.")]) }
    manager.reloading()
    let result = await reloadOnce()
    manager.ready(status: await statusLine)
    lastReload = (WallTime.now().seconds, result)
    return result
  }

  private func reloadOnce() async -> ReloadResult {
    let plan: DaemonPlan<Member>
    do {
      plan = try await source.read()
    } catch {
      return refused((error as? ConfigurationErrors)?.failures ?? [error.asFailure])
    }
    let problems = await goOver(to: plan)
    guard problems.isEmpty else { return refused(problems) }
    let waiting = restartOnly(plan)
    logger.notice(
      "Reloaded", metadata: waiting.isEmpty ? [:] : ["at the next start": "\(waiting.joined(separator: ", "))"])
    return .done(atStart: waiting)
  }

  private func refused(_ failures: [CommandFailure]) -> ReloadResult {
    for failure in failures {
      logger.error(
        "The new configuration cannot be used; the one before stays in force",
        metadata: ["reason": "\(failure.message)"])
    }
    return .refused(failures)
  }

  /// Returns the options that have changed but take effect at the next start only.
  private func restartOnly(_ plan: DaemonPlan<Member>) -> [String] {
    func changed(_ before: [String: String], _ after: [String: String]) -> [String] {
      before.filter { after[$0.key] != $0.value }.map(\.key)
    }
    let members = plan.parts.flatMap { part in
      running.first { $0.name == part.name }.map { changed($0.fixed, part.fixed) } ?? []
    }
    return Set(members + changed(fixed, plan.settings.observation.fixed)).sorted()
  }
}
