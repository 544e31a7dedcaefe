const code = (letter: string): number => letter.charCodeAt(0)
const text = 0
const binary = 1

/**
 * Messages of the extended query protocol, written one after another into one piece of memory, so that they leave in one packet. Every
 * statement uses the portal without a name.
 */
export class PgMessages {
  private memory = Buffer.allocUnsafe(2048)
  private end = 0

  /** Forgets a prepared statement. It is no error when the server has none of that name. */
  close(statement: string): void {
    this.message("C", () => {
      this.byte(code("S"))
      this.name(statement)
    })
  }

  parse(statement: string, sql: string): void {
    this.message("P", () => {
      this.name(statement)
      this.name(sql)
      this.int16(0)
    })
  }

  /** Throws a `TypeError` for a value that no statement can be given. */
  bind(statement: string, values: ReadonlyArray<unknown>): void {
    const encoded = values.map(encode)
    this.message("B", () => {
      this.name("")
      this.name(statement)
      this.int16(encoded.length)
      for (const value of encoded) this.int16(typeof value === "string" ? text : binary)
      this.int16(encoded.length)
      for (const value of encoded) this.value(value)
      this.int16(0)
    })
  }

  /** Asks for the columns of the statement that was bound last. */
  describe(): void {
    this.message("D", () => {
      this.byte(code("P"))
      this.name("")
    })
  }

  execute(): void {
    this.message("E", () => {
      this.name("")
      this.int32(0)
    })
  }

  /** Ends the batch: after a failure the server skips the messages up to here. */
  sync(): void {
    this.message("S", () => {})
  }

  bytes(): Uint8Array {
    return this.memory.subarray(0, this.end)
  }

  private message(type: string, body: () => void): void {
    this.byte(code(type))
    const start = this.end
    this.int32(0)
    body()
    this.memory.writeInt32BE(this.end - start, start)
  }

  private value(value: string | Uint8Array | null): void {
    const start = this.end
    this.int32(-1)
    if (value === null) return
    if (typeof value === "string") this.string(value)
    else {
      this.reserve(value.length)
      this.memory.set(value, this.end)
      this.end += value.length
    }
    this.memory.writeInt32BE(this.end - start - 4, start)
  }

  private name(value: string): void {
    this.string(value)
    this.byte(0)
  }

  private string(value: string): void {
    this.reserve(value.length * 3)
    this.end += this.memory.write(value, this.end)
  }

  private byte(value: number): void {
    this.reserve(1)
    this.memory[this.end++] = value
  }

  private int16(value: number): void {
    this.reserve(2)
    this.end = this.memory.writeUInt16BE(value, this.end)
  }

  private int32(value: number): void {
    this.reserve(4)
    this.end = this.memory.writeInt32BE(value, this.end)
  }

  private reserve(count: number): void {
    if (this.end + count <= this.memory.length) return
    const larger = Buffer.allocUnsafe(2 * (this.end + count))
    larger.set(this.memory.subarray(0, this.end))
    this.memory = larger
  }
}

const encode = (value: unknown): string | Uint8Array | null => {
  if (typeof value === "string" || value instanceof Uint8Array) return value
  if (value === null || value === undefined) return null
  if (typeof value === "number" || typeof value === "bigint") return String(value)
  throw new TypeError(`a statement was given a ${typeof value}`)
}
