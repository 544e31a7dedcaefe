import type { ValidationError } from "@reins/core/api/Validation"
import { Either } from "effect"

/** The deepest nesting that is read: beyond it the programs that walk a value, our own too, run out of stack. */
export const maxDepth = 200

/** The value of a JSON text, or what is wrong with the text in the words and at the character that Python's json gives. */
export const parseJson = (bytes: Buffer): Either.Either<unknown, ValidationError> => {
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return Either.left(invalid(0, "Invalid UTF-8"))
  }
  const deep = findTooDeep(text)
  if (deep !== undefined) return Either.left(invalid(characters(text, deep), `Nesting deeper than ${maxDepth}`))
  try {
    return Either.right(JSON.parse(text))
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

const characters = (text: string, index: number): number => [...text.slice(0, index)].length

const findTooDeep = (text: string): number | undefined => {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const char = text.charCodeAt(index)
    if (char === 0x22) index = endOfString(text, index)
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > maxDepth) return index
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return undefined
}

/** Where the string ends that begins at an index; the end of the text when it does not. */
const endOfString = (text: string, start: number): number => {
  for (let at = start; ; ) {
    at = text.indexOf('"', at + 1)
    if (at === -1) return text.length
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return at
  }
}

interface Fault {
  readonly at: number
  readonly error: string
}

/** Walks a text that is known not to be JSON as Python's decoder does, to the first thing that it would object to. */
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
    const scalar = /(?:null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y
    scalar.lastIndex = this.at
    const match = scalar.exec(this.text)
    if (match === null) return this.fault("Expecting value")
    this.at += match[0].length
    return undefined
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
      const char = this.text.charAt(this.at)
      if (char === '"') return this.take()
      if (char < " ") return this.fault("Invalid control character at")
      if (char !== "\\") continue
      this.at++
      if (this.at === this.text.length) break
      if (this.text[this.at] === "u") {
        if (!/^[0-9a-fA-F]{4}$/.test(this.text.slice(this.at + 1, this.at + 5)))
          return this.fault("Invalid \\uXXXX escape")
        this.at += 4
      } else if (!'"\\/bfnrt'.includes(this.text.charAt(this.at))) return { at: this.at - 1, error: "Invalid \\escape" }
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
    while (/[ \t\n\r]/.test(this.text.charAt(this.at))) this.at++
  }
}
