import { randomBytes } from "node:crypto"
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync
} from "node:fs"
import { dirname } from "node:path"
import { Data, Effect, Either, Schema } from "effect"
import { makeDirectory } from "../base/MakeDirectory.js"
import { Timestamp } from "../domain/Timestamp.js"

const Key = Schema.String.pipe(Schema.filter((text) => Buffer.from(text, "base64").length === 32))
const KeyRingText = Schema.parseJson(
  Schema.Struct({
    format: Schema.Literal(1),
    current: Schema.String,
    keys: Schema.Record({ key: Schema.String, value: Key }),
    /** The times since which old keys seal nothing new. */
    retired: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Timestamp }), { default: () => ({}) }),
    /** Keys that are lost, together with the credentials that they sealed. */
    forgotten: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] })
  }),
  { space: 2 }
)

/** The file of a key ring cannot be read or written. `reason` holds nothing of its content. */
export class KeyRingUnusable extends Data.TaggedError("KeyRingUnusable")<{
  /** The file. */
  readonly path: string
  /** The words of the system, or what is wrong with the content, for a person. */
  readonly reason: string
}> {
  override get message() {
    return `The key ring ${this.path} cannot be used: ${this.reason}`
  }
}

/** The keys of an installation, by their ids. */
export interface Ring {
  /** The id of the key that seals from now on. */
  readonly current: string
  /** Every key of 32 bytes, the current one too. */
  readonly keys: ReadonlyMap<string, Buffer>
  /** The time since which an old key seals nothing new. */
  readonly retired: ReadonlyMap<string, Timestamp>
  /** Keys that are lost, together with the credentials that they sealed. */
  readonly forgotten: ReadonlySet<string>
}

/** A ring with one new key. */
export const newRing = (): Ring => {
  const id = newKeyId()
  return { current: id, keys: new Map([[id, randomBytes(32)]]), retired: new Map(), forgotten: new Set() }
}

/** The ring with a new current key. The key before stays, because it opens what it sealed. */
export const withNewKey = (ring: Ring, at: Timestamp): Ring => {
  const id = newKeyId()
  return {
    ...ring,
    current: id,
    keys: new Map([...ring.keys, [id, randomBytes(32)]]),
    retired: new Map([...ring.retired, [ring.current, at]])
  }
}

/** The ring without some of its old keys. The current key always stays. */
export const without = (ring: Ring, ids: ReadonlySet<string>): Ring => ({
  ...ring,
  keys: new Map([...ring.keys].filter(([id]) => id === ring.current || !ids.has(id))),
  retired: new Map([...ring.retired].filter(([id]) => !ids.has(id)))
})

const newKeyId = (): string => `k${randomBytes(4).toString("hex")}`

/** Reads a ring. Fails for a file that other users may read. No error shows the content. */
export const readRing = (path: string): Either.Either<Ring, KeyRingUnusable> => {
  const unusable = (reason: string) => Either.left(new KeyRingUnusable({ path, reason }))
  let text: string
  try {
    if ((statSync(path).mode & 0o077) !== 0) return unusable("others may read it; run chmod 600 on it")
    text = readFileSync(path, "utf8")
  } catch (cause) {
    return unusable(cause instanceof Error ? cause.message : String(cause))
  }
  // The parse error quotes the text, which holds keys, so it is dropped.
  const decoded = Schema.decodeEither(KeyRingText)(text)
  if (Either.isLeft(decoded)) return unusable("it is not a key ring of format 1")
  const { current, forgotten, keys, retired } = decoded.right
  if (keys[current] === undefined) return unusable(`its current key "${current}" is missing`)
  return Either.right({
    current,
    keys: new Map(Object.entries(keys).map(([id, key]) => [id, Buffer.from(key, "base64")])),
    retired: new Map(Object.entries(retired)),
    forgotten: new Set(forgotten)
  })
}

/** Replaces the ring in a file at once: a reader sees the old or the new one. With `fresh` it leaves an existing ring as it is. */
export const writeRing = (path: string, ring: Ring, fresh = false): Effect.Effect<void, KeyRingUnusable> =>
  Effect.try({
    try: () => {
      makeDirectory(dirname(path), 0o700)
      const temporary = `${path}.${randomBytes(4).toString("hex")}.tmp`
      const file = openSync(temporary, "wx", 0o600)
      writeSync(file, `${encode(ring)}\n`)
      fsyncSync(file)
      closeSync(file)
      if (fresh) {
        // When two processes start at the same time, one of them makes the ring and both use it.
        if (!existsSync(path)) linkUnlessThere(temporary, path)
        rmSync(temporary)
      } else renameSync(temporary, path)
      syncDirectory(dirname(path))
    },
    catch: (cause) => new KeyRingUnusable({ path, reason: cause instanceof Error ? cause.message : String(cause) })
  })

const encode = (ring: Ring): string =>
  Schema.encodeSync(KeyRingText)({
    format: 1,
    current: ring.current,
    keys: Object.fromEntries([...ring.keys].map(([id, key]) => [id, key.toString("base64")])),
    retired: Object.fromEntries(ring.retired),
    forgotten: [...ring.forgotten]
  })

const linkUnlessThere = (from: string, to: string): void => {
  try {
    linkSync(from, to)
  } catch (cause) {
    if (!existsSync(to)) throw cause
  }
}

const syncDirectory = (path: string): void => {
  const directory = openSync(path, "r")
  fsyncSync(directory)
  closeSync(directory)
}
