// Knows the times of an expression by looking at every minute, with nothing but the offsets of a zone from Intl.

const names: Readonly<Record<string, number>> = Object.fromEntries([
  ...["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"].map((name, index) => [
    name,
    index + 1
  ]),
  ...["sun", "mon", "tue", "wed", "thu", "fri", "sat"].map((name, index) => [name, index])
])

const bounds = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7]
] as const

const setOf = (text: string, [least, most]: readonly [number, number]): ReadonlySet<number> => {
  const set = new Set<number>()
  for (const part of text.toLowerCase().split(",")) {
    const [range = "", step] = part.split("/")
    const [from = least, to = range === "*" ? most : from] =
      range === "*" ? [least, most] : range.split("-").map((word) => names[word] ?? Number(word))
    for (let value = from; value <= to; value += Number(step ?? 1)) set.add(most === 7 && value === 7 ? 0 : value)
  }
  return set
}

interface Minute {
  readonly ms: number
  /** The end of the gap, for a minute that the clock skips. */
  readonly end?: number
  /** The wall clock: minute, hour, day, month and weekday. */
  readonly wall: readonly [number, number, number, number, number]
  readonly kind: "plain" | "skipped" | "repeated"
}

const minuteMs = 60_000

const wallOf = (local: number): Minute["wall"] => {
  const date = new Date(local)
  return [date.getUTCMinutes(), date.getUTCHours(), date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCDay()]
}

/** The offset of a zone at an instant, in milliseconds. */
const offsetsOf = (timeZone: string): ((ms: number) => number) => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit"
  })
  const known = new Map<number, number>()
  return (ms) => {
    const slot = Math.floor(ms / (30 * minuteMs)) * 30 * minuteMs
    let offset = known.get(slot)
    if (offset === undefined) {
      const part = Object.fromEntries(format.formatToParts(slot).map(({ type, value }) => [type, Number(value)]))
      const { day = 1, hour = 0, minute = 0, month = 1, year = 0 } = part
      offset = Date.UTC(year, month - 1, day, hour, minute) - slot
      known.set(slot, offset)
    }
    return offset
  }
}

/** Every minute of some days with its wall clock, and the minutes that the clock skips, by the minute that the clock shows. */
export const minutesOf = (zone: string, start: number, days: number): ReadonlyArray<ReadonlyArray<Minute>> => {
  const offsetAt = offsetsOf(zone)
  const minutes = Array.from({ length: 60 }, (): Array<Minute> => [])
  const add = (minute: Minute) => void minutes[minute.wall[0]]?.push(minute)
  let seenTo = Number.NEGATIVE_INFINITY
  for (let ms = start; ms < start + days * 1440 * minuteMs; ms += minuteMs) {
    const offset = offsetAt(ms)
    const local = ms + offset
    const before = offsetAt(ms - minuteMs)
    if (offset > before && ms > start)
      for (let gone = ms + before; gone < local; gone += minuteMs)
        add({ ms: gone - before, end: ms, wall: wallOf(gone), kind: "skipped" })
    add({ ms, wall: wallOf(local), kind: local <= seenTo ? "repeated" : "plain" })
    seenTo = Math.max(seenTo, local)
  }
  return minutes
}

/**
 * The times of an expression by the stated rule. One minute and one hour: once a day, a skipped time at the end of the gap, a repeated one at its first.
 * Everything else follows the wall clock.
 */
export const timesOf = (minutes: ReturnType<typeof minutesOf>, expression: string): ReadonlyArray<number> => {
  const parts = expression.split(" ")
  const [minute, hour, day, month, weekday] = parts.map((part, index) => setOf(part, bounds[index] ?? [0, 0]))
  const either = !parts[2]?.startsWith("*") && !parts[4]?.startsWith("*")
  const isOnce = minute?.size === 1 && hour?.size === 1
  const times = new Set<number>()
  for (const { end, kind, ms, wall } of minutes.flatMap((shown, at) => (minute?.has(at) === true ? shown : []))) {
    if (hour?.has(wall[1]) !== true || month?.has(wall[3]) !== true) continue
    if (kind === (isOnce ? "repeated" : "skipped")) continue
    const ofDay = day?.has(wall[2]) === true
    const ofWeek = weekday?.has(wall[4]) === true
    if (either ? ofDay || ofWeek : ofDay && ofWeek) times.add(end ?? ms)
  }
  return [...times].sort((a, b) => a - b)
}
