import { isUtf8 } from "node:buffer"
import { Transform } from "node:stream"

// A model says its words in pieces, each in a JSON object of a line of its own. A secret that it repeats is then in no line as a whole, and the
// agent joins the pieces. The lines are held back only while the words so far end with what may be the beginning of a secret.

const blank = "[secret]"

/** A longer line is no piece of words. It is passed on as it is. */
const maxLineBytes = 8 * 1024 * 1024

/** Lines that wait for the rest of what may be a secret. Beyond that the beginning is blanked as if the secret had come. */
const maxHeldBytes = 1024 * 1024

/** A line of the answer. `before` and `after` stand around its JSON. */
interface Line {
  readonly raw: Buffer
  readonly before: string
  readonly json: unknown
  readonly after: string
  isChanged: boolean
  /** The words of the line that end in what may be the beginning of a secret. */
  waiting: number
}

/** Words that belong together with those before and after them, and the place in their line that holds them. */
interface Piece {
  readonly line: Line
  text: string
  readonly put: (text: string) => void
}

type Holder = Record<string, unknown> | Array<unknown>

/** Fields that tell apart what comes in turns through one stream, as the index of a choice or the id of an output. */
const isIndex = (name: string): boolean => /(?:^|_)index$|^item_id$/.test(name)

const indexOf = (holder: Holder): string =>
  Object.entries(holder)
    .filter(([name, value]) => isIndex(name) && (typeof value === "number" || typeof value === "string"))
    .map(([name, value]) => `${name}=${value}`)
    .join()

const isHolder = (value: unknown): value is Holder => typeof value === "object" && value !== null

/** The texts of a JSON value. Texts of different lines with the same key are one text in pieces. */
const textsIn = (
  holder: Holder,
  key: string,
  visit: (key: string, text: string, put: (text: string) => void) => void
) => {
  const own = `${key}{${indexOf(holder)}}`
  for (const [name, value] of Object.entries(holder)) {
    const at = `${own}.${name}`
    if (typeof value === "string") visit(at, value, (text) => Object.assign(holder, { [name]: text }))
    else if (isHolder(value)) textsIn(value, at, visit)
  }
}

/** `data: {...}` of server-sent events, or a line that is an object. */
const parse = (raw: Buffer): Line | undefined => {
  if (raw.length > maxLineBytes || !isUtf8(raw)) return undefined
  const text = raw.toString("utf8")
  const start = text.indexOf("{")
  const before = text.slice(0, Math.max(0, start))
  if (start < 0 || !/^(?:data:)?$/.test(before.trim())) return undefined
  const body = text.slice(start).trimEnd()
  try {
    return { raw, before, json: JSON.parse(body), after: text.slice(start + body.length), isChanged: false, waiting: 0 }
  } catch {
    return undefined
  }
}

const bytesOf = ({ after, before, isChanged, json, raw }: Line): Buffer =>
  isChanged ? Buffer.from(`${before}${JSON.stringify(json)}${after}`) : raw

/** The matches of the secrets in a text, first ones first, none of which overlap. */
const matchesIn = (
  text: string,
  secrets: ReadonlyArray<string>
): ReadonlyArray<readonly [from: number, to: number]> => {
  const found: Array<readonly [number, number]> = []
  for (let from = 0; ; ) {
    const next = secrets
      .map((secret) => [text.indexOf(secret, from), secret.length] as const)
      .filter(([at]) => at >= 0)
      .sort(([left, a], [right, b]) => left - right || b - a)[0]
    if (next === undefined) return found
    from = next[0] + next[1]
    found.push([next[0], from])
  }
}

/** The place from which a text ends in what may be the beginning of a secret; its length when it does not. */
const beginningAt = (text: string, secrets: ReadonlyArray<string>): number => {
  const longest = Math.max(...secrets.map(({ length }) => length)) - 1
  for (let from = Math.max(0, text.length - longest); from < text.length; from++)
    if (secrets.some((secret) => secret.length > text.length - from && secret.startsWith(text.slice(from)))) return from
  return text.length
}

/** Blanks the matches in the pieces that they go through. The first of them gets the blank. */
const blankIn = (pieces: ReadonlyArray<Piece>, matches: ReadonlyArray<readonly [from: number, to: number]>): void => {
  let start = 0
  for (const piece of pieces) {
    const end = start + piece.text.length
    const touched = matches.filter(([from, to]) => from < end && to > start)
    if (touched.length > 0) {
      let text = ""
      let at = start
      for (const [from, to] of touched) {
        text += piece.text.slice(at - start, Math.max(from, start) - start) + (from >= start ? blank : "")
        at = Math.min(to, end)
      }
      piece.text = text + piece.text.slice(at - start)
      piece.put(piece.text)
      piece.line.isChanged = true
    }
    start = end
  }
}

/** The words that are held back, by the text that they belong to. */
class Held {
  private readonly texts = new Map<string, Array<Piece>>()

  constructor(private readonly secrets: ReadonlyArray<string>) {}

  /** Adds the next words of a text, and lets go of those that no secret can begin in. */
  add(key: string, piece: Piece): void {
    const pieces = [...(this.texts.get(key) ?? []), piece]
    piece.line.waiting++
    blankIn(pieces, matchesIn(joined(pieces), this.secrets))
    let end = 0
    const begins = beginningAt(joined(pieces), this.secrets)
    const kept = pieces.filter(({ line, text }) => {
      end += text.length
      if (end > begins) return true
      line.waiting--
      return false
    })
    if (kept.length > 0) this.texts.set(key, kept)
    else this.texts.delete(key)
  }

  /** Lets everything go. What may be the beginning of a secret is blanked first. */
  blankAll(): void {
    for (const pieces of this.texts.values()) {
      const text = joined(pieces)
      blankIn(pieces, [[beginningAt(text, this.secrets), text.length]])
      for (const { line } of pieces) line.waiting--
    }
    this.texts.clear()
  }
}

const joined = (pieces: ReadonlyArray<Piece>): string => pieces.map(({ text }) => text).join("")

/** Blanks secrets in an answer of lines, one line at a time. */
class Lines {
  private readonly queue: Array<Line> = []
  private heldBytes = 0
  private readonly held: Held

  constructor(secrets: ReadonlyArray<string>) {
    this.held = new Held(secrets)
  }

  /** Takes a line with its end, and gives back what can be passed on now. */
  take(raw: Buffer): ReadonlyArray<Buffer> {
    const line = parse(raw)
    if (line !== undefined && isHolder(line.json))
      textsIn(line.json, "", (key, text, put) => this.held.add(key, { line, text, put }))
    this.queue.push(line ?? { raw, before: "", json: null, after: "", isChanged: false, waiting: 0 })
    this.heldBytes += raw.length
    const ready = this.ready()
    if (this.heldBytes <= maxHeldBytes) return ready
    this.held.blankAll()
    return [...ready, ...this.ready()]
  }

  /** The lines at the front that wait for nothing. With `all` it is every line. */
  ready(all = false): ReadonlyArray<Buffer> {
    const first = all ? -1 : this.queue.findIndex(({ waiting }) => waiting > 0)
    const lines = this.queue.splice(0, first < 0 ? this.queue.length : first)
    for (const { raw } of lines) this.heldBytes -= raw.length
    return lines.map(bytesOf)
  }
}

/**
 * Blanks secrets that an answer of lines holds in pieces, each in the JSON of a line. An answer without a secret comes through as it was, byte
 * for byte, and a line as soon as its end has come, unless it ends in what may be the beginning of a secret.
 */
export const blankSplitSecrets = (secrets: ReadonlyArray<string>): Transform => {
  const lines = new Lines(secrets)
  let rest: ReadonlyArray<Buffer> = []
  let restBytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const out: Array<Buffer> = []
      const end = (upTo: Buffer) => {
        out.push(...lines.take(Buffer.concat([...rest, upTo])))
        rest = []
        restBytes = 0
      }
      let from = 0
      for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", from)) {
        end(chunk.subarray(from, at + 1))
        from = at + 1
      }
      const left = chunk.subarray(from)
      restBytes += left.length
      if (restBytes > maxLineBytes) end(left)
      else if (left.length > 0) rest = [...rest, left]
      done(null, out.length === 0 ? undefined : Buffer.concat(out))
    },
    flush(done) {
      done(null, Buffer.concat([...(restBytes > 0 ? lines.take(Buffer.concat(rest)) : []), ...lines.ready(true)]))
    }
  })
}

/** True for the media types of answers that are lines with a JSON object each. */
export const comesInLines = (mediaType: string | undefined): boolean =>
  /^\s*(?:text\/event-stream|application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines|stream\+json))\s*(?:;|$)/i.test(
    mediaType ?? ""
  )
