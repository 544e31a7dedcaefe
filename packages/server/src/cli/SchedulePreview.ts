import { argument, command, entry, flag, group, option, whole } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { automations as automationsOfClient } from "@reins/cli/client/Automations"
import { printJsonNow } from "@reins/cli/terminal/Output"
import { table } from "@reins/cli/terminal/Table"
import type { PlannedTime } from "@reins/client"
import { Effect } from "effect"

const notes = { moved_by_clock_change: "the clock skips this time", repeated: "the clock shows it twice" } as const

const preview = command({
  takes: {
    cron: argument("cron", "Minute, hour, day, month and weekday, in quotes"),
    timezone: option("timezone", "The zone of the times (that of this machine)", { value: "zone" }),
    count: whole("count", "How many times (10)", [1, 50]),
    json: flag("json", "Lines of JSON in the place of text")
  },
  details: "Needs no server.",
  examples: [
    ["reins automations preview '30 2 * * 1-5' --timezone Europe/Berlin", "The next ten times"],
    ["reins automations preview '0 */6 * * *' --count 4", "In the zone of this machine"]
  ],
  run: (given) =>
    Effect.tryPromise({
      try: () => showTimes(given),
      catch: (fault) => (fault instanceof CommandFailed ? fault : new CommandFailed({ message: String(fault) }))
    })
})

const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

const minute = (time: string): string => time.slice(0, 16).replace("T", " ")

interface GivenPreview {
  readonly count: number | undefined
  readonly cron: string
  readonly json: boolean
  readonly timezone: string | undefined
}

const showTimes = async ({ count = 10, cron, json, timezone = ownZone() }: GivenPreview): Promise<void> => {
  const times = await plannedTimes(cron, timezone, count)
  if (json) return times.forEach(printJsonNow)
  const rows = times.map(({ at, local, note }) => [minute(at), local ?? "", note === null ? "" : notes[note]])
  process.stdout.write(table([["UTC", timezone.toUpperCase(), "NOTE"], ...rows]))
}

/** The library of schedules is loaded for a preview alone. */
const plannedTimes = async (
  expression: string,
  timezone: string,
  count: number
): Promise<ReadonlyArray<PlannedTime>> => {
  const { preview, ScheduleFault } = await import("@reins/core/automations/Schedules")
  const { fromMillis } = await import("@reins/base/domain/Timestamp")
  try {
    return preview({ kind: "schedule", expression, timezone }, fromMillis(Date.now()), count)
  } catch (fault) {
    if (!(fault instanceof ScheduleFault)) throw fault
    throw new CommandFailed({ message: `The ${fault.field} ${fault.why}.` })
  }
}

/** `reins automations` */
export const automations = group(
  ...automationsOfClient.entries,
  entry("preview", "Show the next times of a schedule", preview)
)
