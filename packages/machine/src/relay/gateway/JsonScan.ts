/** The longest key and the longest value that are kept, in bytes. A document may have any length. */
const longestKey = 256
const longestValue = 64 * 1024
/** No wanted path has more parts. */
const deepest = 4

const quote = 0x22
const backslash = 0x5c
const openObject = 0x7b
const openArray = 0x5b
const closeObject = 0x7d
const closeArray = 0x5d
const colon = 0x3a
const comma = 0x2c

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** True for a byte of a number, or of `true`, `false` and `null`. */
const isOfWord = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e ||
  byte === 0x45

/** The values that a scan keeps. A path has the keys that lead to a value, joined by `/`, with `*` for every element of an array. */
export interface WantedValues {
  /** Values that are kept whole unless they are longer than 64 KiB. */
  readonly values: ReadonlySet<string>
  /** Lists and objects of any length, of which only their presence is kept, as `true`. */
  readonly marks: ReadonlySet<string>
}

/** The thing that may come next outside of strings and words. */
type Place = "value" | "first_value" | "key" | "first_key" | "colon" | "after"

/**
 * Reads a JSON document of any length piece by piece, as it comes, and keeps what is wanted of it. Its memory is bounded. It looks at the
 * structure of the document, and takes the letters of words and strings that it does not keep as they are.
 */
export class JsonScan {
  /** The wanted values so far. Of several values at one path, the last that is not null is kept. */
  readonly found = new Map<string, unknown>()
  private readonly closers: Array<number> = []
  private readonly path: Array<string> = []
  private place: Place = "value"
  private within: "string" | "word" | undefined
  private isEscaped = false
  private key: Array<number> | undefined
  private kept: { readonly path: string; readonly depth: number; readonly bytes: Array<number> } | undefined
  private isOver = false
  private isBroken = false

  constructor(private readonly wanted: WantedValues) {}

  /** True when the bytes so far are a whole document. */
  get isWhole(): boolean {
    return !this.isBroken && (this.isOver || (this.within === "word" && this.closers.length === 0))
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.isBroken; at++) {
      if (this.within === "string" && this.key === undefined && this.kept === undefined && !this.isEscaped) {
        at = endOfPlain(bytes, at)
        if (at === bytes.length) return
      }
      this.step(bytes[at] ?? 0)
    }
  }

  private step(byte: number): void {
    if (this.within === "string") this.inString(byte)
    else if (this.within === "word" && isOfWord(byte)) this.collect(byte)
    else {
      if (this.within === "word") this.endWord()
      if (!isSpace(byte)) this.structure(byte)
    }
  }

  private endWord(): void {
    this.within = undefined
    this.end()
  }

  private inString(byte: number): void {
    this.collect(byte)
    if (byte === quote && !this.isEscaped) {
      this.within = undefined
      if (this.key === undefined) this.end()
      else this.endKey(this.key)
    } else {
      this.isEscaped = byte === backslash && !this.isEscaped
      if (this.key !== undefined && this.key.length < longestKey) this.key.push(byte)
    }
  }

  private endKey(key: ReadonlyArray<number>): void {
    this.path[this.path.length - 1] = Buffer.from(key).toString()
    this.key = undefined
    this.place = "colon"
  }

  private structure(byte: number): void {
    if (byte === quote && (this.place === "key" || this.place === "first_key")) {
      this.collect(byte)
      this.key = []
      this.within = "string"
    } else if (byte === quote || byte === openObject || byte === openArray || isOfWord(byte)) this.begin(byte)
    else if (byte === closeObject || byte === closeArray) this.close(byte)
    else if (byte === colon && this.place === "colon") {
      this.collect(byte)
      this.place = "value"
    } else if (byte === comma && this.place === "after" && this.closers.length > 0) {
      this.collect(byte)
      this.place = this.closers.at(-1) === closeObject ? "key" : "value"
    } else this.isBroken = true
  }

  private begin(byte: number): void {
    if (this.place !== "value" && this.place !== "first_value") {
      this.isBroken = true
      return
    }
    if (this.path.length <= deepest) this.notice(this.path.join("/"), byte === openObject || byte === openArray)
    this.collect(byte)
    if (byte === quote) this.within = "string"
    else if (byte === openObject || byte === openArray) {
      const isObject = byte === openObject
      this.closers.push(isObject ? closeObject : closeArray)
      this.path.push(isObject ? "" : "*")
      this.place = isObject ? "first_key" : "first_value"
    } else this.within = "word"
  }

  private notice(path: string, isNested: boolean): void {
    if (isNested && this.wanted.marks.has(path)) this.found.set(path, true)
    if (this.kept === undefined && this.wanted.values.has(path))
      this.kept = { path, depth: this.closers.length, bytes: [] }
  }

  private close(byte: number): void {
    const isEmpty = this.place === (byte === closeObject ? "first_key" : "first_value")
    if (this.closers.at(-1) !== byte || !(isEmpty || this.place === "after")) {
      this.isBroken = true
      return
    }
    this.collect(byte)
    this.closers.pop()
    this.path.pop()
    this.end()
  }

  /** A value has ended. */
  private end(): void {
    this.place = "after"
    this.isOver = this.closers.length === 0
    if (this.kept === undefined || this.closers.length !== this.kept.depth) return
    const { bytes, path } = this.kept
    this.kept = undefined
    const value = parsed(Buffer.from(bytes).toString())
    if (value === undefined) this.isBroken = true
    else if (value !== null) this.found.set(path, value)
  }

  private collect(byte: number): void {
    if (this.kept === undefined) return
    if (this.kept.bytes.length < longestValue) this.kept.bytes.push(byte)
    else this.kept = undefined
  }
}

/** The index of the next quote or backslash from `at` on; the length of the bytes when there is none. */
const endOfPlain = (bytes: Uint8Array, at: number): number => {
  const found = bytes.indexOf(quote, at)
  const end = found < 0 ? bytes.length : found
  const escape = bytes.subarray(at, end).indexOf(backslash)
  return escape < 0 ? end : at + escape
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
