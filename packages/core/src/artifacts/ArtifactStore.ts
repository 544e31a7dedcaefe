import type { SessionId, TurnId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import type { Artifact, ContentPart } from "./Artifact.js"

interface Row extends Omit<Artifact, "created_by"> {
  readonly publish_key: string
  readonly created_by: string
}

const toArtifact = ({ created_by, publish_key: _, ...row }: Row): Artifact => ({
  ...row,
  created_by: JSON.parse(created_by)
})

/** The bytes of one row. */
const pieceBytes = 1024 * 1024

/** The rows of artifacts. A content is kept in pieces beside its row, so a copy of the database has all of it. */
export const artifactStore = Effect.map(Database, (db) => {
  const { sql } = db
  const count = Effect.fnUntraced(function* (column: "session_id" | "turn_id", id: string) {
    const row = yield* db.first(
      sql<{
        found: number
      }>`select cast(count(*) as integer) as found from artifacts where ${sql.literal(column)} = ${id}`
    )
    return row?.found ?? 0
  })

  return {
    find: (id: string) =>
      Effect.map(db.first(sql<Row>`select * from artifacts where id = ${id}`), (row) => row && toArtifact(row)),
    /** The artifact that a call has published before. */
    findByKey: (sessionId: SessionId, key: string) =>
      Effect.map(
        db.first(sql<Row>`select * from artifacts where session_id = ${sessionId} and publish_key = ${key}`),
        (row) => row && toArtifact(row)
      ),
    ofSession: (id: SessionId) => count("session_id", id),
    ofTurn: (id: TurnId) => count("turn_id", id),
    list: Effect.fnUntraced(function* (
      sessionId: SessionId,
      turnId: string | undefined,
      page: PageRequest
    ): Effect.fn.Return<Page<Artifact>, ReinsError<"invalid_cursor">> {
      const { before, limit } = yield* Keyset.descending(page)
      const wanted = sql.and([
        sql`session_id = ${sessionId}`,
        sql`id < ${before}`,
        ...(turnId === undefined ? [] : [sql`turn_id = ${turnId}`])
      ])
      const rows = yield* db.all(sql<Row>`select * from artifacts where ${wanted} order by id desc limit ${limit + 1}`)
      return Keyset.page(rows.map(toArtifact), limit, ({ id }) => id)
    }),
    insert: Effect.fnUntraced(function* (
      artifact: Artifact,
      key: string,
      bytes: Buffer
    ): Effect.fn.Return<void, never, Commit> {
      yield* Commit
      const row = { ...artifact, created_by: JSON.stringify(artifact.created_by), publish_key: key }
      yield* db.run(sql`insert into artifacts ${sql.insert(row)}`)
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const piece = bytes.subarray(at, at + pieceBytes)
        yield* db.run(sql`insert into artifact_pieces (artifact_id, session_id, ordinal, bytes)
          values (${artifact.id}, ${artifact.session_id}, ${at / pieceBytes}, ${piece})`)
      }
    }),
    /** The bytes of a content from `first` to `last`. It reads the pieces that have them, and no others. */
    bytesOf: (id: string, { first, last }: ContentPart) => {
      const from = Math.floor(first / pieceBytes)
      return Effect.map(
        db.all(sql<{ bytes: Uint8Array }>`select bytes from artifact_pieces where artifact_id = ${id}
          and ordinal between ${from} and ${Math.floor(last / pieceBytes)} order by ordinal`),
        (pieces) => {
          const start = first - from * pieceBytes
          return Buffer.concat(pieces.map(({ bytes }) => bytes)).subarray(start, start + last - first + 1)
        }
      )
    },
    remove: Effect.fnUntraced(function* (id: string): Effect.fn.Return<void, never, Commit> {
      yield* Commit
      yield* db.run(sql`delete from artifact_pieces where artifact_id = ${id}`)
      yield* db.run(sql`delete from artifacts where id = ${id}`)
    })
  }
})
