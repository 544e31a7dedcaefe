// Keeps what comes of a body: all of it, or its end.

/** The body of an answer. */
interface KeptBody {
  readonly body: string
  readonly cut?: true
}

/** Keeps everything. */
export class BodyStart {
  private readonly chunks: Array<Buffer> = []
  size = 0
  readonly add = (chunk: Buffer): void => {
    this.chunks.push(chunk)
    this.size += chunk.length
  }
  readonly body = (): KeptBody => ({ body: Buffer.concat(this.chunks).toString("utf8") })
}

/** Keeps the last bytes in one buffer, whatever comes. */
export class BodyEnd {
  private readonly ring: Buffer
  size = 0
  constructor(most: number) {
    this.ring = Buffer.alloc(most)
  }
  readonly add = (chunk: Buffer): void => {
    const most = this.ring.length
    const tail = chunk.subarray(Math.max(0, chunk.length - most))
    const at = (this.size + chunk.length - tail.length) % most
    const first = tail.copy(this.ring, at)
    tail.copy(this.ring, 0, first)
    this.size += chunk.length
  }
  /** A character that was cut in two at its beginning is left out. */
  readonly body = (): KeptBody => {
    const most = this.ring.length
    if (this.size <= most) return { body: this.ring.toString("utf8", 0, this.size) }
    const at = this.size % most
    const bytes = Buffer.concat([this.ring.subarray(at), this.ring.subarray(0, at)])
    const start = bytes.subarray(0, 4).findIndex((byte) => (byte & 0xc0) !== 0x80)
    return { body: bytes.toString("utf8", Math.max(0, start)), cut: true }
  }
}
