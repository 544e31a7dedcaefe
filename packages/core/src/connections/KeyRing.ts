import { randomBytes } from "node:crypto"
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync
} from "node:fs"
import { dirname } from "node:path"
import { Context, Data, Effect, Layer, type ParseResult, Schema } from "effect"

const Key = Schema.String.pipe(Schema.filter((text) => Buffer.from(text, "base64").length === 32))
const KeyRingFile = Schema.parseJson(
  Schema.Struct({
    format: Schema.Literal(1),
    current: Schema.String,
    keys: Schema.Record({ key: Schema.String, value: Key })
  })
)

export class KeyRingUnusable extends Data.TaggedError("KeyRingUnusable")<{
  readonly path: string
  readonly reason: string
}> {
  override get message() {
    return `The key ring ${this.path} cannot be used: ${this.reason}`
  }
}

/**
 * The keys that seal provider credentials. They live in a file of mode 0600 outside the database, so that a copy of the database
 * alone opens nothing. Old keys stay in the ring for as long as something is sealed with them.
 */
export class KeyRing extends Context.Tag("@reins/core/connections/KeyRing")<
  KeyRing,
  {
    readonly current: { readonly id: string; readonly key: Buffer }
    readonly find: (id: string) => Buffer | undefined
  }
>() {
  /** The ring in a file, which is made with one new key when it is not there. */
  static readonly layerFile = (path: string) =>
    Layer.effect(
      KeyRing,
      Effect.gen(function* () {
        const text = yield* Effect.try({
          try: () => {
            if (!existsSync(path)) create(path)
            if ((statSync(path).mode & 0o077) !== 0) throw new Error("others may read it; run chmod 600 on it")
            return readFileSync(path, "utf8")
          },
          catch: (cause) =>
            new KeyRingUnusable({ path, reason: cause instanceof Error ? cause.message : String(cause) })
        })
        return yield* decode(path, text)
      })
    )

  /** One key for as long as the layer lives, for tests. */
  static readonly layerMemory = Layer.sync(KeyRing, () => {
    const key = randomBytes(32)
    return KeyRing.of({ current: { id: "memory", key }, find: (id) => (id === "memory" ? key : undefined) })
  })
}

const decode = Effect.fnUntraced(function* (path: string, text: string) {
  const ring = yield* Schema.decodeUnknown(KeyRingFile)(text).pipe(
    // The parse error quotes the text, which holds keys.
    Effect.mapError(
      (_: ParseResult.ParseError) => new KeyRingUnusable({ path, reason: "it is not a key ring of format 1" })
    )
  )
  const keys = new Map(Object.entries(ring.keys).map(([id, key]) => [id, Buffer.from(key, "base64")]))
  const current = keys.get(ring.current)
  if (current === undefined)
    return yield* new KeyRingUnusable({ path, reason: `its current key "${ring.current}" is missing` })
  return KeyRing.of({ current: { id: ring.current, key: current }, find: (id) => keys.get(id) })
})

const create = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const id = `k${randomBytes(4).toString("hex")}`
  const temporary = `${path}.${process.pid}.tmp`
  const file = openSync(temporary, "wx", 0o600)
  writeSync(
    file,
    `${JSON.stringify({ format: 1, current: id, keys: { [id]: randomBytes(32).toString("base64") } }, null, 2)}\n`
  )
  fsyncSync(file)
  closeSync(file)
  chmodSync(temporary, 0o600)
  renameSync(temporary, path)
}
