/** A count with its noun, as in `1 file` or `3 files`. */
export const count = (number: number, noun: string, many = `${noun}s`): string =>
  `${number.toLocaleString("en")} ${number === 1 ? noun : many}`

/** True when a position of a text is not within a character that takes two units. */
export const isBetween = (text: string, at: number): boolean =>
  !(/[\ud800-\udbff]/.test(text[at - 1] ?? "") && /[\udc00-\udfff]/.test(text[at] ?? ""))

/** A text of at most so many units, with `…` where it goes on. */
export const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, isBetween(text, most - 1) ? most - 1 : most - 2)}…`

/** A word of the API for people: `requires_action` is `requires action`. */
export const plain = (word: string): string => word.replaceAll("_", " ")

/** A size, as in `12 kB`. */
export const bytes = (size: number): string => {
  const units = ["B", "kB", "MB", "GB", "TB"]
  let [value, unit] = [size, 0]
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1]
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** A count of tokens, as in `12.4 k`; `unknown` where nobody said it. */
export const tokens = (number: number | null): string => {
  if (number === null) return "unknown"
  return number < 1000
    ? String(number)
    : number < 1e6
      ? `${(number / 1e3).toFixed(1)} k`
      : `${(number / 1e6).toFixed(2)} M`
}

/** A cost in dollars; `unknown` where there is no price. */
export const dollars = (cost: number | null): string => {
  if (cost === null) return "unknown"
  return `$${cost.toFixed(cost !== 0 && Math.abs(cost) < 0.1 ? 4 : 2)}`
}

const steps = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12]
] as const

/** A time as seen from now, as in `3 minutes ago`. */
export const ago = (time: string, now: number): string => {
  let value = Math.max(0, Math.round((now - Date.parse(time)) / 1000))
  if (value < 10) return "just now"
  for (const [unit, size] of steps) {
    if (value < size) return `${count(value, unit)} ago`
    value = Math.floor(value / size)
  }
  return `${count(value, "year")} ago`
}

/** The time until a moment, as in `4:05`; empty when it has passed. */
export const countdown = (until: string, now: number): string => {
  const seconds = Math.ceil((Date.parse(until) - now) / 1000)
  if (seconds <= 0) return ""
  const [minutes, rest] = [Math.floor(seconds / 60), String(seconds % 60).padStart(2, "0")]
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A length of time, as in `12 s` or `3 min 20 s`. */
export const duration = (from: string, to: string): string => {
  const seconds = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A day of the calendar where the reader is, as in `23 Nov 2026`. */
export const day = (time: string): string =>
  new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })
