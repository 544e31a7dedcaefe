import type { MessageDelta } from "@reins/base/domain/MessageDelta"
import type { LogEntry } from "../store/Slices.js"

/** An event that is ready to be delivered. All of its readers share it. */
export class Frame<Entry extends LogEntry = LogEntry> {
  private encoded: Buffer | undefined

  constructor(readonly event: Entry) {}

  /** The event as a server-sent event, encoded once. */
  get bytes(): Buffer {
    const { envelope, seq, type } = this.event
    this.encoded ??= Buffer.from(`id: ${seq}\nevent: ${type}\ndata: ${envelope}\n\n`)
    return this.encoded
  }
}

const together = new WeakMap<ReadonlyArray<Frame>, Buffer>()

/** The bytes of frames. They are put together once for all readers of the same list. */
export const frameBytes = (frames: ReadonlyArray<Frame>): Buffer => {
  const [only] = frames
  if (only !== undefined && frames.length === 1) return only.bytes
  const known = together.get(frames)
  if (known !== undefined) return known
  const bytes = Buffer.concat(frames.map((frame) => frame.bytes))
  together.set(frames, bytes)
  return bytes
}

/**
 * Takes the events that a reader asked for, in ascending `seq`. `cursor` is the last `seq` that was read, which is beyond the last frame when
 * the filter left events out. A sink that answers false is given no more until the reader is resumed.
 */
export type Sink<Entry extends LogEntry = LogEntry> = (frames: ReadonlyArray<Frame<Entry>>, cursor: number) => boolean

/** Takes deltas as server-sent events. */
export interface DeltaSink {
  readonly wants: (delta: MessageDelta) => boolean
  readonly take: (frame: Buffer) => void
}

export interface Reader<Entry extends LogEntry> {
  /** True for the events that the reader wants. Undefined for a reader that wants all. */
  readonly wants: ((event: Entry) => boolean) | undefined
  readonly sink: Sink<Entry>
  /** Undefined for a reader that wants no deltas. */
  readonly deltas: DeltaSink | undefined
  /** Events that are read of the log at once. */
  readonly batch: number
  /** The `seq` of the last event that was delivered or left out. */
  cursor: number
  /** A `live` reader has all events that the audience knows. A `reading` one waits for the log, and a `paused` one for its sink. */
  state: "live" | "reading" | "paused"
}

/** An audience keeps so many frames, and so many bytes, of the end of the log for readers that fell behind a little. */
const ringFrames = 256
const ringBytes = 512 * 1024

/**
 * The readers of one log, as that of a session, and the end of it. It decides which events each reader gets next, and reads nothing itself. No reader gets
 * an event twice or out of order, and none misses one: events that the audience no longer holds are asked for from the log.
 */
export class Audience<Entry extends LogEntry> {
  readonly readers = new Set<Reader<Entry>>()
  private ring: Array<Frame<Entry>> = []

  /** `head` is the `seq` that the audience has read to; `catchUp` reads the log from a reader's cursor and hands it to `supply`. */
  constructor(
    public head: number,
    private readonly catchUp: (reader: Reader<Entry>) => void
  ) {}

  /** Starts a reader, or goes on with one that had paused. */
  resume(reader: Reader<Entry>): void {
    if (reader.state !== "paused" || !this.readers.has(reader)) return
    this.advance(reader)
  }

  /** Gives a reader the events that were read from its cursor on. */
  supply(reader: Reader<Entry>, events: ReadonlyArray<Entry>): void {
    if (!this.readers.has(reader)) return
    if (
      this.deliver(
        reader,
        events.map((event) => new Frame(event))
      )
    )
      this.advance(reader)
  }

  /** Gives all live readers the events that were read from the head on. */
  publish(events: ReadonlyArray<Entry>): void {
    const frames = events.map((event) => new Frame(event))
    this.head = frames.at(-1)?.event.seq ?? this.head
    this.ring = newest(this.ring.concat(frames))
    for (const reader of this.readers) if (reader.state === "live") this.deliver(reader, frames)
  }

  /** Gives a delta to the live readers that want deltas. It is not kept for others. */
  whisper(delta: MessageDelta): void {
    let frame: Buffer | undefined
    for (const { deltas, state } of this.readers) {
      if (deltas === undefined || state !== "live" || !deltas.wants(delta)) continue
      frame ??= Buffer.from(`event: message.delta\ndata: ${JSON.stringify(delta)}\n\n`)
      deltas.take(frame)
    }
  }

  private advance(reader: Reader<Entry>): void {
    const first = this.ring[0]
    const holdsNext = first !== undefined && first.event.seq <= reader.cursor + 1
    if (reader.cursor < this.head && !holdsNext) {
      reader.state = "reading"
      this.catchUp(reader)
    } else {
      reader.state = "live"
      this.deliver(reader, this.ring)
    }
  }

  /** True when the reader wants more. Readers who want all frames are given the same list. */
  private deliver(reader: Reader<Entry>, frames: ReadonlyArray<Frame<Entry>>): boolean {
    const { cursor, sink, wants } = reader
    const [first] = frames
    const last = frames.at(-1)
    if (first === undefined || last === undefined || last.event.seq <= cursor) return true
    reader.cursor = last.event.seq
    const fresh = first.event.seq > cursor ? frames : frames.filter(({ event }) => event.seq > cursor)
    const wanted = wants === undefined ? fresh : fresh.filter(({ event }) => wants(event))
    const wantsMore = sink(wanted, reader.cursor)
    if (!wantsMore) reader.state = "paused"
    return wantsMore
  }
}

/** The newest of the frames, but the last one in any case. */
const newest = <Entry extends LogEntry>(frames: ReadonlyArray<Frame<Entry>>): Array<Frame<Entry>> => {
  let bytes = 0
  let from = frames.length
  while (from > 0 && frames.length - from < ringFrames && bytes < ringBytes) bytes += frames[--from]?.bytes.length ?? 0
  return frames.slice(from)
}
