import { Effect, Option, Stream } from "effect"
import { BlobError, type BlobStore } from "./BlobStore.js"
import type { Database } from "./Database.js"

/** The bytes of one row. */
const pieceBytes = 1024 * 1024

/** The most that a database should have to carry for one blob. */
const maxBytes = 32 * 1024 * 1024

const unavailable = () =>
  new BlobError({
    reason: "unavailable",
    message: "The database did not take the blob: look at its log, then try again."
  })

/** A statement that fails is a defect of the database, which is a store that cannot be used now. */
const attempt = <A>(effect: Effect.Effect<A, BlobError>) =>
  Effect.catchAllDefect(effect, () => Effect.fail(unavailable()))

/** The content in pieces of the size of a row. It is at most 32 MiB. */
const piecesOf = async (content: AsyncIterable<Uint8Array>): Promise<ReadonlyArray<Uint8Array>> => {
  const parts: Array<Uint8Array> = []
  for await (const part of content) parts.push(part)
  const whole = Buffer.concat(parts)
  const pieces: Array<Uint8Array> = []
  for (let at = 0; at < whole.length || at === 0; at += pieceBytes) pieces.push(whole.subarray(at, at + pieceBytes))
  return pieces
}

/** Blobs as rows of PostgreSQL, 1 MiB each, for installations that have no other place that all machines reach. */
export const blobTable = (db: Database["Type"]): BlobStore => {
  const { sql } = db
  return {
    maxBytes,
    write: ({ hex }, content) =>
      Effect.flatMap(Effect.tryPromise({ try: () => piecesOf(content), catch: unavailable }), (pieces) =>
        attempt(
          db.transaction(
            Effect.forEach(
              pieces,
              (bytes, ordinal) =>
                db.run(sql`insert into blob_pieces (digest, ordinal, bytes) values (${hex}, ${ordinal}, ${bytes})
                    on conflict (digest, ordinal) do nothing`),
              { discard: true }
            )
          )
        )
      ),
    read: (hex) =>
      Stream.paginateEffect(0, (ordinal) =>
        attempt(
          Effect.flatMap(
            db.first(sql<{
              bytes: Uint8Array
              is_last: number
            }>`select bytes, case when exists (select 1 from blob_pieces later
                where later.digest = ${hex} and later.ordinal = ${ordinal + 1}) then 0 else 1 end as is_last
              from blob_pieces where digest = ${hex} and ordinal = ${ordinal}`),
            (row) =>
              row === undefined
                ? Effect.fail(new BlobError({ reason: "missing", message: "The database does not hold the blob." }))
                : Effect.succeed([row.bytes, row.is_last === 1 ? Option.none() : Option.some(ordinal + 1)] as const)
          )
        )
      ),
    has: (hex) =>
      attempt(
        Effect.map(
          db.first(sql`select 1 as there from blob_pieces where digest = ${hex} and ordinal = 0`),
          (row) => row !== undefined
        )
      ),
    remove: (hex) => attempt(db.run(sql`delete from blob_pieces where digest = ${hex}`))
  }
}
