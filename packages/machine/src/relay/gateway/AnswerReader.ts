import { foreignName } from "@reins/base/base/ForeignText"
import {
  answerLack,
  type CallDialect,
  dialects,
  namesOfError,
  statusOfError,
  type ToldUsage,
  untold,
  wholeUsage,
  wordsOfError
} from "./CallDialects.js"
import { JsonScan, type WantedValues } from "./JsonScan.js"
import type { AnswerLack, AnswerWords, CallProtocol, CallUsage } from "./ModelCall.js"

const lineFeed = 0x0a
/** The longest beginning of a line that is kept to see its field, and the longest text that is compared with `[DONE]`. */
const shortText = 16

/**
 * Reads the answer to a model call as it passes, in pieces of any size: one JSON document, or server-sent events of which each has one. It
 * keeps the usage, the end and the error, never the answer.
 */
export class AnswerReader {
  /** An error that the answer tells of, although its status is a good one. */
  error: { readonly status: number; readonly words: string | null; readonly names: string } | undefined
  /** Tells how the answer is less than what the model would have said; null for a whole one. */
  lack: AnswerLack | null = null
  /** True once a document of the protocol has come. */
  isAnswer = false
  /** True once the answer says that it is whole. */
  isEnded = false
  private told: ToldUsage | undefined
  private readonly dialect: CallDialect
  private readonly wanted: WantedValues
  private form: "json" | "events" | undefined
  private scan: JsonScan
  /** The beginning of the line that is being read; undefined within its value. */
  private field: string | undefined = ""
  private isData = false
  /** True when the event that is being read has data. */
  private hasData = false
  private text = ""

  private model: string | null = null
  private ends: ReadonlyArray<string> = []

  /** `readsWords` says that it is asked for `words`. */
  constructor(
    protocol: CallProtocol,
    private readonly readsWords = false
  ) {
    this.dialect = dialects[protocol]
    const { marks, models, values } = this.dialect
    this.wanted = { values: new Set(readsWords ? [...values, ...models] : values), marks: new Set(marks) }
    this.scan = new JsonScan(this.wanted)
  }

  /** The usage that the answer has told so far; null when it has told none. */
  get usage(): CallUsage | null {
    return this.told === undefined ? null : wholeUsage(this.told)
  }

  /** The words of the answer about itself. */
  get words(): AnswerWords {
    return { model: this.model, ends: this.ends }
  }

  push(bytes: Uint8Array): void {
    const rest = this.form === undefined ? withoutLead(bytes) : bytes
    if (rest.length === 0) return
    this.form ??= rest[0] === 0x7b || rest[0] === 0x5b ? "json" : "events"
    if (this.form === "json") this.scan.push(rest)
    else this.pushEvents(rest)
  }

  /** The answer has no more bytes. */
  end(): void {
    if (this.form === "events") this.endEvent()
    else if (this.form === "json" && this.scan.isWhole) {
      this.take(this.scan)
      this.isEnded = this.isAnswer && this.error === undefined
    }
  }

  private pushEvents(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const found = bytes.indexOf(lineFeed, at)
      const end = found < 0 ? bytes.length : found
      this.pushLine(bytes.subarray(at, end))
      if (found >= 0) this.endLine()
      at = end + 1
    }
  }

  /** Takes a piece of a line. The name of the field ends with a colon, and one space behind that is no part of the value. */
  private pushLine(piece: Uint8Array): void {
    let at = 0
    for (; this.field !== undefined && at < piece.length; at++) {
      const byte = piece[at] ?? 0
      if (byte !== 0x3a)
        this.field = this.field.length < shortText ? this.field + String.fromCharCode(byte) : this.field
      else {
        this.isData = this.field === "data"
        this.field = undefined
      }
    }
    if (!this.isData || at === piece.length) return
    const value = piece.subarray(at)
    this.hasData = true
    if (this.text.length < shortText) this.text += Buffer.from(value.subarray(0, shortText)).toString("latin1")
    this.scan.push(value)
  }

  private endLine(): void {
    const isOver = this.field === "" || this.field === "\r"
    this.field = ""
    this.isData = false
    if (isOver) this.endEvent()
  }

  private endEvent(): void {
    if (!this.hasData) return
    if (this.text.trim() === "[DONE]") this.isEnded ||= this.isAnswer
    else if (this.scan.isWhole) {
      this.take(this.scan)
      this.isEnded ||= this.dialect.isEnd(this.scan.found)
    }
    this.scan = new JsonScan(this.wanted)
    this.hasData = false
    this.text = ""
  }

  private take({ found }: JsonScan): void {
    const error = this.dialect.error(found)
    if (error !== undefined && !isBlank(error))
      this.error = { status: statusOfError(error), words: wordsOfError(error), names: namesOfError(error) }

    this.isAnswer ||= this.dialect.isAnswer(found)
    this.lack = answerLack(this.dialect, found) ?? this.lack
    const usage = this.dialect.usage(found)
    if (usage !== undefined) this.told = { ...(this.told ?? untold), ...usage }
    if (this.readsWords) this.takeWords(found)
  }

  private takeWords(found: JsonScan["found"]): void {
    const said = (paths: ReadonlyArray<string>, most: number) =>
      paths
        .map((path) => found.get(path))
        .flatMap((value) => (typeof value === "string" ? [foreignName(value, most)] : []))
        .filter((word) => word !== "")
    this.model = said(this.dialect.models, longestModel)[0] ?? this.model
    const ends = said(this.dialect.finishes, longestEnd)
    if (ends.length > 0) this.ends = ends
  }
}

const longestModel = 255
const longestEnd = 64

const byteOrderMark: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf])

/** The bytes from the first on that is no space and of no byte order mark. That one tells the form of an answer. */
const withoutLead = (bytes: Uint8Array): Uint8Array => {
  const at = bytes.findIndex((byte) => byte > 0x20 && !byteOrderMark.has(byte))
  return at < 0 ? new Uint8Array() : bytes.subarray(at)
}

/** True for an error that says nothing: gateways put one into answers that are none. */
const isBlank = (error: unknown): boolean =>
  error === false || error === "" || (Array.isArray(error) && error.length === 0)
