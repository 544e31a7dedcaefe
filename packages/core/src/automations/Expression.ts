/** The five fields of a schedule, as they were read. */
export interface Expression {
  /** The minutes and hours that it allows. */
  readonly minutes: ReadonlyArray<number>
  readonly hours: ReadonlyArray<number>
  /** True where a date has to fit the day and the weekday. False where one of them is enough. */
  readonly needsBoth: boolean
  /** False for a schedule of days that no month of it has, as 30 February. */
  readonly comes: boolean
}

/** The reason why a text is no expression, as a sentence for people. */
export interface Fault {
  readonly fault: string
}

interface Field {
  readonly name: string
  readonly least: number
  readonly most: number
  readonly names: ReadonlyArray<string>
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

const fields: ReadonlyArray<Field> = [
  { name: "minute", least: 0, most: 59, names: [] },
  { name: "hour", least: 0, most: 23, names: [] },
  { name: "day", least: 1, most: 31, names: [] },
  { name: "month", least: 1, most: 12, names: months },
  { name: "weekday", least: 0, most: 7, names: weekdays }
]

/**
 * Reads five fields: minute, hour, day, month and weekday. A field is `*`, a number, a range, a list of these, or `*` or a range with a step. Months and
 * weekdays also have the first three letters of their English names. Everything else that crons take, such as `@daily`, `?`, `L` or seconds, is a fault.
 * Day and weekday together mean what they mean in Vixie's cron.
 */
export const parseExpression = (text: string): Expression | Fault => {
  const parts = text.trim().split(/\s+/)
  if (parts.length !== fields.length)
    return { fault: `has ${parts.length} fields, and it needs five: minute, hour, day, month and weekday` }
  const sets: Array<ReadonlyArray<number>> = []
  for (const [index, field] of fields.entries()) {
    const set = numbersOf(parts[index] ?? "", field)
    if ("fault" in set) return set
    sets.push(set.numbers)
  }
  const [minutes = [], hours = [], days = [], ofMonths = []] = sets
  // Cron looks at the first character alone, so `*/2` counts as a star too.
  const needsBoth = parts[2]?.startsWith("*") === true || parts[4]?.startsWith("*") === true
  // Every date falls on every weekday within 400 years.
  const hasDate = ofMonths.some((month) => days.some((day) => day <= (longestMonths[month - 1] ?? 0)))
  return { minutes, hours, needsBoth, comes: hasDate || !needsBoth }
}

const longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const numbersOf = (text: string, field: Field): { readonly numbers: ReadonlyArray<number> } | Fault => {
  const numbers = new Set<number>()
  for (const part of text.toLowerCase().split(",")) {
    const match = /^(?:(\*)|([a-z]{3}|\d{1,2})(?:-([a-z]{3}|\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part)
    if (match === null) return { fault: `has the ${field.name} "${part}", which is no number, range, list or step` }
    const [, star, from, to, step] = match
    if (step !== undefined && star === undefined && to === undefined)
      return { fault: `has the ${field.name} "${part}"; a step follows * or a range, as in */15 or 8-18/2` }
    const first = star === undefined ? valueOf(from ?? "", field) : field.least
    const last = star !== undefined ? field.most : to === undefined ? first : valueOf(to, field)
    if (first === undefined || last === undefined || first < field.least || last > field.most || first > last)
      return { fault: `has the ${field.name} "${part}"; it goes from ${field.least} to ${field.most}` }
    const stride = step === undefined ? 1 : Number(step)
    if (stride === 0) return { fault: `has the ${field.name} "${part}", whose step is 0` }
    for (let value = first; value <= last; value += stride) numbers.add(value)
  }
  return { numbers: [...numbers].sort((a, b) => a - b) }
}

const valueOf = (text: string, { least, names }: Field): number | undefined => {
  if (/^\d+$/.test(text)) return Number(text)
  const index = names.indexOf(text)
  return index < 0 ? undefined : index + least
}

/** The shortest time between two occurrences in minutes, by the wall clock. */
export const shortestGap = ({ hours, minutes }: Expression): number => {
  const [first = 0] = minutes
  const last = minutes.at(-1) ?? 0
  let shortest = 24 * 60
  for (const [index, minute] of minutes.entries()) {
    const before = minutes[index - 1]
    if (before !== undefined) shortest = Math.min(shortest, minute - before)
  }
  for (const hour of hours) if (hours.includes((hour + 1) % 24)) shortest = Math.min(shortest, 60 - last + first)
  return shortest
}

/** True for an expression with one minute and one hour. It comes once on each of its days, also where the clock changes. */
export const isOnceADay = ({ hours, minutes }: Expression): boolean => hours.length === 1 && minutes.length === 1
