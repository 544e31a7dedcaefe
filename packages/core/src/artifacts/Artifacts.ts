import { hash } from "node:crypto"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import { ArtifactId, newId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal, TurnPrincipal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { Artifact, ContentPart } from "./Artifact.js"
import { artifactStore } from "./ArtifactStore.js"
import { mediaTypeIn } from "./MediaTypes.js"

/** A file that an agent publishes. The same file under the same key is the same artifact. */
export interface PublishedFile {
  readonly title: string
  readonly path: string
  readonly bytes: Buffer
  readonly key: string
}

/** Files that agents keep for people, with their contents. */
export class Artifacts extends Context.Tag("@reins/core/artifacts/Artifacts")<
  Artifacts,
  {
    /** The artifacts of a session, or of one of its turns, newest first. A session that the principal may not see is `not_found`. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      filter: PageRequest & { readonly turn_id?: string }
    ) => Effect.Effect<Page<Artifact>, Unseen | ReinsError<"invalid_cursor">>
    readonly get: (principal: Principal, artifactId: string) => Effect.Effect<Artifact, Unseen>
    /** The artifact with its content, or with the part that is asked for. It reads that part alone. */
    readonly content: (
      principal: Principal,
      artifactId: string,
      part?: ContentPart
    ) => Effect.Effect<{ readonly artifact: Artifact; readonly bytes: Buffer }, Unseen>
    /** Deletes an artifact with its content, and gives it as it was. */
    readonly delete: (principal: Principal, artifactId: string) => Command<Artifact, Denied>
    /**
     * Keeps a file for people. Fails with `quota_exhausted` when the turn or the session has as many as it may. The caller bounds the size. One that
     * the retries of the turn have published before is given back.
     */
    readonly publish: (
      principal: TurnPrincipal,
      file: PublishedFile
    ) => Command<Artifact, Denied | ReinsError<"quota_exhausted">>
  }
>() {
  static readonly layer = Layer.effect(
    Artifacts,
    Effect.gen(function* () {
      const { artifactsPerSession, artifactsPerTurn } = (yield* CoreConfig).limits
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const store = yield* artifactStore

      const existing = (id: string) =>
        Effect.flatMap(store.find(id), (found) =>
          found === undefined ? Effect.fail(notFound()) : Effect.succeed(found)
        )
      const visible = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const artifact = yield* existing(id)
        yield* sessions.readable(principal, artifact.session_id)
        return artifact
      })

      return Artifacts.of({
        list: fn("Artifacts.list")(function* (principal, sessionId, { turn_id, ...page }) {
          const session = yield* sessions.readable(principal, sessionId)
          return yield* store.list(session.id, turn_id, page)
        }),
        get: fn("Artifacts.get")(visible),
        content: fn("Artifacts.content")(function* (principal, artifactId, part) {
          const artifact = yield* visible(principal, artifactId)
          return { artifact, bytes: yield* store.bytesOf(artifact.id, part ?? { first: 0, last: artifact.size - 1 }) }
        }),
        delete: (principal, artifactId) =>
          journal.command(
            "Artifacts.delete",
            { by: principal, about: { type: "artifact", id: artifactId } },
            Effect.gen(function* () {
              const { session_id } = yield* existing(artifactId)
              yield* sessions.writable(principal, session_id)
              const artifact = yield* existing(artifactId)
              yield* store.remove(artifact.id)
              yield* journal.append(session_id, actorOf(principal), [
                {
                  type: "artifact.deleted",
                  payload: { artifact_id: artifact.id },
                  subjects: { turn_id: artifact.turn_id }
                }
              ])
              return artifact
            })
          ),
        publish: (principal, { bytes, key, path, title }) =>
          journal.command(
            "Artifacts.publish",
            { by: principal, about: { type: "session", id: principal.via.sessionId } },
            Effect.gen(function* () {
              const session = yield* sessions.writable(principal, principal.via.sessionId)
              const before = yield* store.findByKey(session.id, key)
              if (before !== undefined) return before
              const { turnId } = principal.via
              if ((yield* store.ofTurn(turnId)) >= artifactsPerTurn) return yield* tooMany("turn", artifactsPerTurn)
              if ((yield* store.ofSession(session.id)) >= artifactsPerSession)
                return yield* tooMany("session", artifactsPerSession)
              const artifact: Artifact = {
                id: yield* newId(ArtifactId),
                session_id: session.id,
                turn_id: turnId,
                title,
                path,
                media_type: mediaTypeIn(bytes),
                size: bytes.length,
                digest: `sha256:${hash("sha256", bytes, "hex")}`,
                created_by: actorOf(principal),
                created_at: yield* now
              }
              yield* store.insert(artifact, key, bytes)
              yield* journal.append(session.id, actorOf(principal), [
                { type: "artifact.published", payload: { artifact }, subjects: { turn_id: turnId } }
              ])
              return artifact
            })
          )
      })
    })
  )
}

const tooMany = (resource: "turn" | "session", limit: number) =>
  new ReinsError({
    code: "quota_exhausted",
    message:
      resource === "turn"
        ? `A turn publishes at most ${limit} files, and this one has published them. Put what is left into one file in the next turn.`
        : `A session keeps at most ${limit} published files, and this one keeps them. Ask a person to delete some.`,
    details: { quota: "artifacts", used: limit, limit }
  })
