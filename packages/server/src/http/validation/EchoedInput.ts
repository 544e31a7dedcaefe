import { cutText } from "@reins/base/base/CutText"
import { Predicate } from "effect"

/** The size of a value in an error, in characters of its JSON. */
export const maxEchoedChars = 4096

const maxDepth = 8
const mask = "**********"

/** Names of fields that hold secrets, in every spelling. An answer ends up in the logs of clients. */
const secretName =
  /pass(?:word|phrase|wd)|secret|token|credential|(?:api|private|access)[_-]?key|auth[_-]?json|setup[_-]?code|authorization|cookie/i

const isSecretName = (key: string | number): boolean => typeof key === "string" && secretName.test(key)

/**
 * The value at `loc`, as an error shows it. A field that holds a secret is masked, and so is a text that should have been an object and names
 * such a field. A value with more than 4,096 characters of JSON shows its first members, a text that is cut ends in `…`, and values that are
 * nested more than 8 deep show as empty.
 */
export const echoed = (loc: ReadonlyArray<string | number>, value: unknown): unknown => {
  const isWholeText = typeof value === "string" && loc.length === 1
  return new Echo().take(value, loc.some(isSecretName) || (isWholeText && secretName.test(value)), 0)
}

class Echo {
  private left = maxEchoedChars

  take(value: unknown, isSecret: boolean, depth: number): unknown {
    if (Array.isArray(value)) return depth > maxDepth ? [] : this.takeList(value, isSecret, depth)
    if (Predicate.isRecord(value)) return depth > maxDepth ? {} : this.takeRecord(value, isSecret, depth)
    if (isSecret && value !== null) return this.takeText(mask)
    if (typeof value === "string") return this.takeText(value)
    this.left -= String(value).length
    return value
  }

  private takeList(list: ReadonlyArray<unknown>, isSecret: boolean, depth: number): ReadonlyArray<unknown> {
    const taken: Array<unknown> = []
    this.left -= 2
    for (const item of list) {
      if (this.left <= 0) break
      this.left -= 1
      taken.push(this.take(item, isSecret, depth + 1))
    }
    return taken
  }

  private takeRecord(record: { readonly [key: string]: unknown }, isSecret: boolean, depth: number): object {
    const taken: Array<readonly [string, unknown]> = []
    this.left -= 2
    // A record may have tens of thousands of members, and only a few are shown.
    for (const key of Object.keys(record)) {
      if (this.left <= 0) break
      this.left -= 2
      taken.push([this.takeText(key), this.take(record[key], isSecret || isSecretName(key), depth + 1)])
    }
    return Object.fromEntries(taken)
  }

  private takeText(text: string): string {
    // A character takes up to six in JSON, as in \u001f, so the text is cut before it is measured.
    const shown = echoedText(text, Math.max(0, this.left))
    this.left -= JSON.stringify(shown).length
    return shown
  }
}

/** The text, or its first characters and `…`. */
export const echoedText = (text: string, maxChars: number): string =>
  text.length <= maxChars ? text : `${cutText(text, maxChars)}…`
