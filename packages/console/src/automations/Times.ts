/** The time zone of the reader. */
export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone

const dayMs = 86_400_000

/** The day of a moment on the calendar of a zone, as a number that grows by one a day. */
const dayOf = (at: number, timeZone: string): number =>
  Date.parse(new Date(at).toLocaleDateString("en-CA", { timeZone })) / dayMs

/** The time of a moment by the clock of a zone, as in `09:00`. */
export const clock = (at: string, timeZone = ownZone): string =>
  new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZone })

/** A moment in the words of its reader, as in `tomorrow at 09:00`. */
export const moment = (at: string, now: number, timeZone = ownZone): string => {
  const time = Date.parse(at)
  const near = ["yesterday", "today", "tomorrow"][dayOf(time, timeZone) - dayOf(now, timeZone) + 1]
  return `${near ?? `on ${dateOf(time, now, timeZone)}`} at ${clock(at, timeZone)}`
}

const dateOf = (time: number, now: number, timeZone: string): string => {
  const isThisYear = new Date(time).getFullYear() === new Date(now).getFullYear()
  return new Date(time)
    .toLocaleDateString("en-GB", {
      weekday: "short",
      day: "numeric",
      month: "short",
      ...(!isThisYear && { year: "numeric" }),
      timeZone
    })
    .replace(",", "")
}

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

/** An expression in words, as in `every working day at 9:00`; undefined for one that has no short words. */
export const wordsOf = (expression: string): string | undefined => {
  const text = expression.trim().toLowerCase().split(/\s+/).join(" ")
  if (/^0 \* \* \* \*$/.test(text)) return "every hour"
  const [, minutes] = /^\*\/(\d{1,2}) \* \* \* \*$/.exec(text) ?? []
  if (minutes !== undefined) return `every ${Number(minutes)} minutes`
  const [, minute = "", hour, day, weekday = ""] =
    /^(\d{1,2}) (\d{1,2}) (\*|\d{1,2}) \* (\*|1-5|mon-fri|[0-7])$/.exec(text) ?? []
  if (hour === undefined) return undefined
  const at = `at ${Number(hour)}:${minute.padStart(2, "0")}`
  if (day !== "*") return weekday === "*" ? `on day ${day} of every month ${at}` : undefined
  if (weekday === "*") return `every day ${at}`
  return /-/.test(weekday) ? `every working day ${at}` : `every ${weekdays[Number(weekday)]} ${at}`
}

/** The schedules that people ask for most. */
export const commonSchedules = [
  "0 9 * * 1-5",
  "30 2 * * *",
  "30 2 * * 1-5",
  "0 8 * * 1",
  "0 9 1 * *",
  "0 * * * *",
  "*/15 * * * *"
] as const

/** A moment as the value of a field for a local date and time. */
export const toLocalField = (at: string): string => {
  const time = new Date(at)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The zones to choose from, that of the reader first. */
export const zones = (): ReadonlyArray<string> => [...new Set([ownZone, "UTC", ...Intl.supportedValuesOf("timeZone")])]
