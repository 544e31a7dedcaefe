import { createHash } from "node:crypto"
import { fromMillis, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Cron } from "croner"
import type { PlannedTime, ScheduleTrigger, TimedTrigger } from "./Automation.js"
import { type Expression, isOnceADay, parseExpression, shortestGap } from "./Expression.js"

// Owns the times of triggers. An expression with one minute and one hour comes once on each of its days: a time that a change of the clock skips comes
// at the end of the gap, and one that is repeated comes at its first. Every other expression follows the wall clock.

/** The times of a trigger, in milliseconds since 1970. */
export interface Schedule {
  /** The first time after an instant; undefined when there is none. */
  readonly next: (after: number) => number | undefined
}

/** A trigger that no schedule can be made of: the field that is wrong, and why. */
export class ScheduleFault extends Error {
  constructor(
    readonly field: "at" | "expression" | "timezone",
    readonly why: string
  ) {
    super(why)
  }
}

/** The shortest time between two occurrences, in minutes. */
export const leastMinutes = 5

/** The schedule of a trigger. Throws a `ScheduleFault` for a trigger that has none. */
export const scheduleOf = (trigger: TimedTrigger): Schedule => {
  if (trigger.kind === "once") {
    const at = toMillis(trigger.at)
    return { next: (after) => (after < at ? at : undefined) }
  }
  const expression = parseExpression(trigger.expression)
  if ("fault" in expression) throw new ScheduleFault("expression", expression.fault)
  if (!isZone(trigger.timezone))
    throw new ScheduleFault("timezone", "is no IANA time zone; write one like Europe/Berlin, or UTC")
  const gap = shortestGap(expression)
  if (gap < leastMinutes)
    throw new ScheduleFault("expression", `comes every ${gap} minutes; ${leastMinutes} minutes are the least`)
  const cron = cronOf(trigger, expression)
  if (!expression.comes) return { next: () => undefined }
  return { next: (after) => cron.nextRun(new Date(after))?.getTime() }
}

/** The library refuses a few expressions more, such as a step beyond its field. */
const cronOf = ({ expression, timezone }: ScheduleTrigger, { needsBoth }: Expression): Cron => {
  try {
    const fields = expression.trim().split(/\s+/).join(" ")
    return new Cron(fields, { timezone, paused: true, mode: "5-part", domAndDow: needsBoth })
  } catch {
    throw new ScheduleFault("expression", "is not one that can come; look at its steps and its ranges")
  }
}

/** True for the name of a zone. An offset and an abbreviation such as `EST` know no summer, and are none. */
const isZone = (name: string): boolean => {
  if (name !== "UTC" && !/^[A-Za-z][\w+-]*(?:\/[\w+-]+)+$/.test(name)) return false
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The first times after an instant, at most `count`. */
export const timesAfter = (schedule: Schedule, after: number, count: number): ReadonlyArray<number> => {
  const times: Array<number> = []
  for (let at = schedule.next(after); at !== undefined && times.length < count; at = schedule.next(at)) times.push(at)
  return times
}

/** The times that were due and have not been looked at. */
export interface Due {
  readonly newest: number
  /** The number of times. There may be more where it is 1,000. */
  readonly count: number
}

const mostCounted = 1_000

/** The times from `first`, which is one of them, up to an instant that is not before it. */
export const dueUpTo = (schedule: Schedule, first: number, upTo: number): Due => {
  let newest = first
  let count = 1
  for (let at = schedule.next(first); at !== undefined && at <= upTo; at = schedule.next(at)) {
    newest = at
    count += 1
    if (count === mostCounted) return { newest: newestUpTo(schedule, newest, upTo), count }
  }
  return { newest, count }
}

const hourMs = 60 * 60_000

/** The newest time up to an instant. `known` is an earlier one. */
const newestUpTo = (schedule: Schedule, known: number, upTo: number): number => {
  for (let span = hourMs; upTo - span > known; span *= 8) {
    let found: number | undefined
    for (let at = schedule.next(upTo - span); at !== undefined && at <= upTo; at = schedule.next(at)) found = at
    if (found !== undefined) return found
  }
  return known
}

/** A number from 0 to `below` - 1 that is always the same for a text. */
export const digestBelow = (text: string, below: number): number =>
  below <= 0 ? 0 : createHash("sha256").update(text).digest().readUInt32BE(0) % below

const usualJitterSeconds = 60

/**
 * The milliseconds after an occurrence at which its run begins. They are the same each time, so that a preview can tell them, and never more than a tenth of
 * the time to the next occurrence.
 */
export const jitterMs = (id: string, trigger: TimedTrigger, schedule: Schedule, at: number): number => {
  if (trigger.kind === "once") return 0
  const next = schedule.next(at)
  const wanted = (trigger.jitter_seconds ?? usualJitterSeconds) * 1000
  const most = next === undefined ? wanted : Math.min(wanted, Math.floor((next - at) / 10))
  return Math.floor(digestBelow(id, most + 1) / 1000) * 1000
}

/** The first times of a trigger after an instant, as people look at them. Throws a `ScheduleFault` for a schedule that never comes. */
export const preview = (trigger: TimedTrigger, after: Timestamp, count: number): ReadonlyArray<PlannedTime> => {
  const times = timesAfter(scheduleOf(trigger), toMillis(after), count)
  if (trigger.kind === "once") return times.map((at) => ({ at: fromMillis(at), local: null, note: null }))
  const wall = wallClock(trigger.timezone)
  const expression = parseExpression(trigger.expression)
  if ("fault" in expression || !expression.comes) throw new ScheduleFault("expression", "never comes")
  const single = isOnceADay(expression) ? expression : undefined
  return times.map((at) => {
    const offset = wall(at)
    const local = new Date(at + offset)
    const isMoved =
      single !== undefined && (local.getUTCHours() !== single.hours[0] || local.getUTCMinutes() !== single.minutes[0])
    const note = isMoved ? "moved_by_clock_change" : isRepeated(wall, at) ? "repeated" : null
    return { at: fromMillis(at), local: `${local.toISOString().slice(0, 16)}${offsetText(offset)}`, note }
  })
}

/** True for an instant whose wall clock has been shown before, because the clock was set back. */
const isRepeated = (wall: (at: number) => number, at: number): boolean => {
  const before = wall(at - 3 * hourMs)
  const back = before - wall(at)
  return back > 0 && wall(at - back) === before
}

const offsetText = (offset: number): string => {
  const minutes = Math.abs(Math.round(offset / 60_000))
  const two = (value: number): string => String(value).padStart(2, "0")
  return `${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** Gives the function of the offset of a zone from UTC at an instant, in milliseconds. */
const wallClock = (timeZone: string): ((at: number) => number) => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit"
  })
  return (at) => {
    const part: Record<string, number> = {}
    for (const { type, value } of format.formatToParts(at)) part[type] = Number(value)
    const { day = 1, hour = 0, minute = 0, month = 1, second = 0, year = 1970 } = part
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000
  }
}
