import type { ValidationError } from "@reins/server/http/validation/Validation"
import { Either } from "effect"
import { endOfString, findLoss } from "./JsonLoss.js"

/** The deepest nesting that is read. Beyond it programs that walk a value, our own too, run out of stack. */
const maxDepth = 200
/** The most values that are read. The smallest values take some twenty times as much memory as text. */
const maxValues = 50_000

/**
 * The value of a JSON text, or its first fault, in the words and at the character that Python's json gives. A text whose value would not be
 * all that was sent is at fault too.
 */
export const parseJson = (bytes: Buffer): Either.Either<unknown, ValidationError> => {
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return Either.left(invalid(0, "Invalid UTF-8"))
  }
  const measured = measure(text)
  if (typeof measured !== "number") return Either.left(invalid(characters(text, measured.at), measured.error))
  try {
    const value: unknown = JSON.parse(text)
    const loss = findLoss(text, value, measured)
    return loss === undefined ? Either.right(value) : Either.left(loss)
  } catch {
    const fault = new Scanner(text).findFault() ?? { at: 0, error: "Expecting value" }
    return Either.left(invalid(characters(text, fault.at), fault.error))
  }
}

const invalid = (position: number, error: string): ValidationError => ({
  type: "json_invalid",
  loc: ["body", position],
  msg: "JSON decode error",
  input: {},
  ctx: { error }
})

/** The number of characters before an index. A character is one or two units of the text. */
const characters = (text: string, index: number): number => {
  let count = index
  for (let at = 0; at < index; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xd800) count--
  return count
}

/** Counts the values of a JSON text, or tells the place where it goes beyond the limits, with the limit. */
const measure = (text: string): number | Fault => {
  let depth = 0
  // A list or object that is not empty has one member more than commas.
  let values = 1
  let hasJustBegun = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char <= 0x20) continue
    const isBeginning = char === 0x5b || char === 0x7b
    if (char === 0x22) at = endOfString(text, at)
    else if (isBeginning) depth++
    else if (char === 0x5d || char === 0x7d) {
      depth--
      if (!hasJustBegun) values++
    } else if (char === 0x2c) values++
    if (depth > maxDepth) return { at, error: `Nesting deeper than ${maxDepth}` }
    if (values > maxValues) return { at, error: `More than ${maxValues} values` }
    hasJustBegun = isBeginning
  }
  return values
}

interface Fault {
  readonly at: number
  readonly error: string
}

const scalar = /null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const fourHexDigits = /[0-9a-fA-F]{4}/y
const whiteSpace = /[ \t\n\r]*/y

/** Walks a text that is no JSON as Python's decoder does, to the first fault that the decoder would report. */
class Scanner {
  private at = 0

  constructor(private readonly text: string) {}

  findFault(): Fault | undefined {
    this.space()
    const fault = this.value()
    if (fault !== undefined) return fault
    this.space()
    return this.at < this.text.length ? this.fault("Extra data") : undefined
  }

  private value(): Fault | undefined {
    const char = this.text[this.at]
    if (char === "{") return this.object()
    if (char === "[") return this.array()
    if (char === '"') return this.string()
    return this.skipMatch(scalar) ? undefined : this.fault("Expecting value")
  }

  private object(): Fault | undefined {
    this.skip()
    if (this.text[this.at] === "}") return this.take()
    for (;;) {
      if (this.text[this.at] !== '"') return this.fault("Expecting property name enclosed in double quotes")
      const key = this.string()
      if (key !== undefined) return key
      this.space()
      if (this.text[this.at] !== ":") return this.fault("Expecting ':' delimiter")
      this.skip()
      const value = this.value()
      if (value !== undefined) return value
      this.space()
      if (this.text[this.at] === "}") return this.take()
      if (this.text[this.at] !== ",") return this.fault("Expecting ',' delimiter")
      this.skip()
    }
  }

  private array(): Fault | undefined {
    this.skip()
    if (this.text[this.at] === "]") return this.take()
    for (;;) {
      const value = this.value()
      if (value !== undefined) return value
      this.space()
      if (this.text[this.at] === "]") return this.take()
      if (this.text[this.at] !== ",") return this.fault("Expecting ',' delimiter")
      this.skip()
    }
  }

  private string(): Fault | undefined {
    const start = this.at++
    for (; this.at < this.text.length; this.at++) {
      const char = this.text.charCodeAt(this.at)
      if (char === 0x22) return this.take()
      if (char < 0x20) return this.fault("Invalid control character at")
      if (char !== 0x5c) continue
      const escaped = this.text.charAt(++this.at)
      if (escaped === "") break
      if (escaped === "u") {
        if (!this.skipMatch(fourHexDigits, 1)) return this.fault("Invalid \\uXXXX escape")
        this.at--
      } else if (!'"\\/bfnrt'.includes(escaped)) return { at: this.at - 1, error: "Invalid \\escape" }
    }
    return { at: start, error: "Unterminated string starting at" }
  }

  private fault(error: string): Fault {
    return { at: this.at, error }
  }

  private take(): undefined {
    this.at++
  }

  private skip(): void {
    this.at++
    this.space()
  }

  private space(): void {
    this.skipMatch(whiteSpace)
  }

  /** Moves to the end of a match that begins so many units ahead. Without a match it stays. */
  private skipMatch(sticky: RegExp, ahead = 0): boolean {
    sticky.lastIndex = this.at + ahead
    if (!sticky.test(this.text)) return false
    this.at = sticky.lastIndex
    return true
  }
}
