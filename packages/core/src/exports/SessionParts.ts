import type { Event } from "@reins/base/domain/Event"
import type { Page } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Chunk, Effect, Option, Stream } from "effect"
import type { Unseen } from "../access/Access.js"
import type { Changeset } from "../changes/Changeset.js"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import { Changesets } from "../changes/Changesets.js"
import { EventLog } from "../events/EventLog.js"
import { Messages } from "../sessions/Messages.js"
import { InteractionStore } from "../sessions/questions/InteractionStore.js"
import type { Interaction } from "../sessions/rows/Interaction.js"
import type { Message } from "../sessions/rows/Message.js"
import type { Session } from "../sessions/rows/Session.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Turn } from "../sessions/rows/Turn.js"
import { secretMask } from "../sessions/SecretMask.js"
import { Sessions } from "../sessions/Sessions.js"
import { Turns } from "../sessions/Turns.js"
import type { SessionUsage } from "../sessions/usage/Usage.js"
import { Usages } from "../sessions/usage/Usages.js"
import type { ExportedChangeset, ExportedTool } from "./ExportsApi.js"

/** A part of a session, read page by page as its reader goes on. It fails when the principal loses sight of the session. */
export type Part<A> = Stream.Stream<A, Unseen>

/** All of a session without secrets. Each part is in the order of time. */
export interface SessionParts {
  readonly session: Omit<Session, "actions">
  readonly usage: SessionUsage
  readonly turns: Part<Turn>
  readonly messages: Part<Message>
  readonly tools: Part<ExportedTool>
  readonly interactions: Part<Interaction>
  readonly changesets: Part<ExportedChangeset>
}

/** A message can have a million characters, so few of them are held at once. */
const messagesAtOnce = 10

const rowsAtOnce = 50

/** Reads a session as a principal sees it. Fails with `not_found` for one that the principal may not see. */
export const readParts = Effect.gen(function* () {
  const sessions = yield* Sessions
  const store = yield* SessionStore
  const messages = yield* Messages
  const turns = yield* Turns
  const usages = yield* Usages
  const interactions = yield* InteractionStore
  const changesets = yield* ChangesetStore
  const maskOf = yield* secretMask
  const toolsOf = yield* makeTools
  const withDiff = yield* makeWithDiff

  return Effect.fnUntraced(function* (principal: Principal, sessionId: string) {
    const row = yield* store.readable(principal, sessionId)
    const mask = yield* maskOf(row)
    const { actions, ...session } = yield* sessions.get(principal, row.id)
    const seen = store.readable(principal, row.id)
    const parts: SessionParts = {
      session: yield* mask(session),
      usage: yield* usages.session(principal, row.id),
      turns: pagesOf((cursor) => turns.list(principal, row.id, { limit: rowsAtOnce, ...cursor })).pipe(
        Stream.mapEffect(({ actions, budget, ...turn }) => mask(turn))
      ),
      messages: Stream.mapEffect(
        pagesOf((cursor) => messages.list(principal, row.id, { limit: messagesAtOnce, ...cursor })),
        mask
      ),
      tools: Stream.mapEffect(toolsOf(principal, row.id), mask),
      interactions: Stream.mapEffect(
        rowsOf((after) => Effect.zipRight(seen, interactions.oldest(row.id, after, rowsAtOnce))),
        mask
      ),
      changesets: rowsOf((after) => Effect.zipRight(seen, changesets.oldest(row.id, after, messagesAtOnce))).pipe(
        Stream.mapEffect((changeset) => withDiff(principal, changeset)),
        Stream.mapEffect(mask)
      )
    }
    return parts
  })
})

/** The tool calls whose events are kept. */
const makeTools = Effect.map(EventLog, (log) => {
  const types = new Set(["tool.completed"])
  const page = (principal: Principal, sessionId: string, after: number) =>
    log.page(principal, sessionId, { after, limit: rowsAtOnce, types }).pipe(
      Effect.catchAll((error) => {
        if (error.code === "not_found") return Effect.fail(error as ReinsError<"not_found">)
        const details = error.details
        return details !== undefined && "next_after" in details
          ? Effect.orDie(log.page(principal, sessionId, { after: details.next_after, limit: rowsAtOnce, types }))
          : Effect.die(error)
      })
    )
  return (principal: Principal, sessionId: string): Part<ExportedTool> =>
    Stream.paginateChunkEffect(0, (after) =>
      Effect.map(page(principal, sessionId, after), ({ has_more, items, next_after }) => [
        Chunk.unsafeFromArray(items.map(toTool)),
        has_more ? Option.some(next_after) : Option.none()
      ])
    )
})

const toTool = ({ payload, recorded_at, seq, turn_id }: Event): ExportedTool => ({
  seq,
  turn_id: turn_id ?? null,
  recorded_at,
  // Boundary: events of the type have this payload.
  call: payload as unknown as ExportedTool["call"]
})

/** Adds the diff of a changeset, or the reason that there is none. */
const makeWithDiff = Effect.map(Changesets, (changesets) => {
  const none = { diff: null, diff_truncated: false, diff_error: null }
  return Effect.fnUntraced(function* (principal: Principal, changeset: Changeset) {
    if (changeset.state !== "ready" || changeset.empty) return { ...changeset, ...none }
    const read = yield* Effect.either(changesets.diff(principal, changeset.id, {}))
    return read._tag === "Left"
      ? { ...changeset, ...none, diff_error: read.left.code }
      : { ...changeset, diff: read.right.diff, diff_truncated: read.right.truncated, diff_error: null }
  })
})

/** Every item of a list. The cursors are those that the list gives, so none is refused. */
const pagesOf = <A>(
  read: (cursor: { readonly cursor?: string }) => Effect.Effect<Page<A>, ReinsError<"not_found" | "invalid_cursor">>
): Part<A> =>
  Stream.paginateChunkEffect({}, (cursor: { readonly cursor?: string }) =>
    read(cursor).pipe(
      Effect.catchAll((error) =>
        error.code === "not_found" ? Effect.fail(error as ReinsError<"not_found">) : Effect.die(error)
      ),
      Effect.map(({ items, next_cursor }) => [
        Chunk.unsafeFromArray(items),
        Option.map(Option.fromNullable(next_cursor), (next) => ({ cursor: next }))
      ])
    )
  )

/** Every row of a table, by ascending ids. */
const rowsOf = <A extends { readonly id: string }>(
  read: (after: string) => Effect.Effect<ReadonlyArray<A>, Unseen>
): Part<A> =>
  Stream.paginateChunkEffect("", (after) =>
    Effect.map(read(after), (rows) => [
      Chunk.unsafeFromArray(rows),
      Option.map(Option.fromNullable(rows.at(-1)), ({ id }) => id)
    ])
  )
