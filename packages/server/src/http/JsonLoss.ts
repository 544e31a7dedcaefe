// `JSON.parse` keeps the last of several members with one name, and rounds whole numbers that a double cannot hold. Both would lose in
// silence what a client sent.

import { echoed, echoedText } from "./validation/EchoedInput.js"
import { type ValidationError, valueError } from "./validation/Validation.js"
import { wholeNumberTooLarge } from "./validation/ValidationReason.js"

/** The first value of a JSON text that parsing has lost or changed. `values` is how many values the text has. */
export const findLoss = (text: string, parsed: unknown, values: number): ValidationError | undefined => {
  const seen = new Seen()
  seen.look(parsed)
  return seen.isExact && seen.values === values ? undefined : new LossFinder(text).find()
}

/** Looks through parsed values, which costs little beside parsing them. */
class Seen {
  values = 0
  /** False when a number is here that may not be the one that was sent. */
  isExact = true

  look(value: unknown): void {
    this.values++
    if (typeof value === "number") {
      if (Math.abs(value) > Number.MAX_SAFE_INTEGER) this.isExact = false
    } else if (Array.isArray(value)) for (const item of value) this.look(item)
    else if (typeof value === "object" && value !== null) for (const item of Object.values(value)) this.look(item)
  }
}

/** The end of the string that begins at an index, or the end of the text when the string does not end. */
export const endOfString = (text: string, start: number): number => {
  for (let at = start; ; ) {
    at = text.indexOf('"', at + 1)
    if (at === -1) return text.length
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return at
  }
}

/** A bracket, comma or colon, the beginning of a string, or any other value. */
const token = /[[\]{},:"]|[^\s[\]{},:"]+/g

/** An object or list that is being read: the names in it, and where in it the reader is. */
interface Container {
  readonly names: Set<string> | undefined
  at: string | number
}

/** Reads a JSON text, which is known to be one, for the place of a loss. */
class LossFinder {
  private readonly open: Array<Container> = []

  constructor(private readonly text: string) {}

  find(): ValidationError | undefined {
    let isName = false
    for (let next = this.read(0); next !== undefined; next = this.read(next.end)) {
      const { text } = next
      const inner = this.open.at(-1)
      switch (text[0]) {
        case "{":
          this.open.push({ names: new Set(), at: "" })
          isName = true
          break
        case "[":
          this.open.push({ names: undefined, at: 0 })
          isName = false
          break
        case "}":
        case "]":
          this.open.pop()
          isName = false
          break
        case ",":
          if (typeof inner?.at === "number") inner.at++
          isName = inner?.names !== undefined
          break
        case ":":
          isName = false
          break
        default: {
          const fault = isName && inner?.names !== undefined ? this.nameFault(inner, text) : this.numberFault(text)
          if (fault !== undefined) return fault
        }
      }
    }
    return undefined
  }

  private read(from: number): { readonly text: string; readonly end: number } | undefined {
    token.lastIndex = from
    const found = token.exec(this.text)
    if (found === null) return undefined
    const end = found[0] === '"' ? endOfString(this.text, found.index) + 1 : token.lastIndex
    return { text: this.text.slice(found.index, end), end }
  }

  private nameFault(inner: Container, text: string): ValidationError | undefined {
    const name: string = JSON.parse(text)
    inner.at = name
    if (inner.names?.has(name) === true) return valueError(this.loc, "this name is given more than once", null)
    inner.names?.add(name)
    return undefined
  }

  private numberFault(text: string): ValidationError | undefined {
    const value = Number(text)
    if (text[0] === '"' || Math.abs(value) <= Number.MAX_SAFE_INTEGER || Number.isNaN(value)) return undefined
    const input = echoed(this.loc, text)
    if (!Number.isFinite(value))
      return { type: "finite_number", loc: this.loc, msg: "Input should be a finite number", input }
    return losesDigits(text, value) ? { ...wholeNumberTooLarge, loc: this.loc, input } : undefined
  }

  private get loc(): ReadonlyArray<string | number> {
    return ["body", ...this.open.map(({ at }) => (typeof at === "string" ? echoedText(at, 256) : at))]
  }
}

/** True for a whole number that would be given back with other digits. Programs write doubles with as few digits as tell them apart. */
const losesDigits = (text: string, value: number): boolean => {
  const [, digits] = /^(-?\d+)(?:\.0+)?$/.exec(text) ?? []
  return digits !== undefined && digits !== String(value) && BigInt(digits) !== BigInt(value)
}
