import { Context, Data, Effect, Layer, Option } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { CredentialId, LeaseId, SessionId } from "../domain/Ids.js"
import type { TurnReason } from "../domain/Turn.js"
import { Executors } from "../executor/Executors.js"
import { Harness } from "../harness/Harness.js"
import { HarnessInstall } from "../harness/Install.js"
import { Manifests } from "../harness/Manifests.js"
import type { TurnInput } from "../harness/TurnInput.js"
import type { SessionRow } from "../sessions/SessionStore.js"
import { WorkingTrees } from "../sessions/WorkingTrees.js"
import { logDefect } from "../store/FailedStatement.js"

/** Why a turn could not be started, as the turn then says it. */
export class TurnRefused extends Data.TaggedError("TurnRefused")<{
  readonly reason: TurnReason
  readonly message: string
  readonly retryable: boolean
}> {}

export interface PreparedTurn extends Omit<TurnInput, "prompt" | "cancel"> {
  /** The version of the connection's credential that the turn uses. */
  readonly credentialId: CredentialId | null
}

/** Brings together what a turn runs with, and knows whether the agent's own state is still what the last turn left. */
export class TurnSetup extends Context.Tag("@reins/core/execution/TurnSetup")<
  TurnSetup,
  {
    /** Makes the lease and the workspace where they are missing, and opens the connection. */
    readonly prepare: (session: SessionRow) => Effect.Effect<PreparedTurn, TurnRefused>
    /** The digest of the agent's own state, to be stored whenever the agent has ended. No turn goes on from a state that cannot be read. */
    readonly nativeDigest: (session: SessionRow) => Effect.Effect<string | null>
  }
>() {
  static readonly layer = Layer.effect(
    TurnSetup,
    Effect.gen(function* () {
      const config = yield* CoreConfig
      const manifests = yield* Manifests
      const connections = yield* ConnectionStore
      const executors = yield* Executors
      const harness = yield* Harness
      const install = yield* HarnessInstall
      const trees = yield* WorkingTrees

      const manifestOf = (session: SessionRow) => Effect.orDie(manifests.get(session.provider_id))
      const nativeDigest = fn("TurnSetup.nativeDigest")(function* (session: SessionRow) {
        const state = Effect.flatMap(manifestOf(session), (manifest) =>
          harness.nativeState(manifest, trees.paths(session.id).home)
        )
        return yield* Effect.map(state, ({ digest }): string | null => digest).pipe(
          // An agent can make its own files unreadable. That must not keep its turn from ending.
          Effect.catchAllDefect((defect) =>
            Effect.as(logDefect("the agent's own state cannot be read", defect), unreadable).pipe(
              Effect.annotateLogs({ session_id: session.id })
            )
          )
        )
      })

      /** Whether the agent can go on with what its last turn left. */
      const goesOn = Effect.fnUntraced(function* (session: SessionRow) {
        if (session.native_session_id === null) return true
        const digest = yield* nativeDigest(session)
        return digest !== unreadable && digest === session.native_digest
      })

      const installed = Effect.fnUntraced(function* (providerId: string) {
        const found = yield* Effect.orDie(install.find(providerId))
        if (Option.isSome(found)) return found.value
        return yield* new TurnRefused({
          reason: "executor_unavailable",
          message: `The agent of ${providerId} is not installed on this server. Run: reins harnesses install ${providerId}`,
          retryable: false
        })
      })

      const connection = Effect.fnUntraced(function* (session: SessionRow) {
        if (session.connection_id === null) return null
        return yield* connections.open(session.workspace_id, session.connection_id).pipe(
          Effect.mapError(
            (error) =>
              new TurnRefused({
                reason: error.is("credential_invalid") ? "credential_invalid" : "connection_required",
                message: error.message,
                retryable: false
              })
          )
        )
      })

      return TurnSetup.of({
        prepare: fn("TurnSetup.prepare")(function* (session) {
          const agent = yield* installed(session.provider_id)
          const ready = yield* trees.prepare(session.id).pipe(
            Effect.mapError(
              (error) =>
                new TurnRefused({
                  reason: "executor_unavailable",
                  message: `The workspace could not be made. ${error.message}`,
                  retryable: error.kind === "remote_unavailable" || error.kind === "timeout"
                })
            )
          )
          const executor = yield* executors
            .get(ready.backend)
            .pipe(
              Effect.mapError(
                (error) => new TurnRefused({ reason: "executor_unavailable", message: error.message, retryable: false })
              )
            )
          const [isUnchanged, opened] = yield* Effect.all([goesOn(ready), Effect.either(connection(ready))], {
            concurrency: 2
          })
          if (!isUnchanged) return yield* contextChanged
          const using = yield* opened
          const { home, workTree } = trees.paths(session.id)
          return {
            manifest: yield* manifestOf(ready),
            installed: agent,
            executor,
            leaseId: yield* leaseOf(ready.id, ready.lease_id),
            workspaceDir: workTree,
            homeDir: home,
            connection: using,
            credentialId: using?.credentialId ?? null,
            model: ready.model,
            nativeSessionId: ready.native_session_id,
            deadline: config.turnDeadlineMs
          }
        }),
        nativeDigest
      })
    })
  )
}

/** In the place of the digest of a state that cannot be read. */
const unreadable = "unreadable"

const leaseOf = (sessionId: SessionId, leaseId: LeaseId | null): Effect.Effect<LeaseId> =>
  leaseId === null ? Effect.dieMessage(`session ${sessionId} has no lease`) : Effect.succeed(leaseId)

const contextChanged = new TurnRefused({
  reason: "context_unavailable",
  message:
    "The agent's own record of this conversation was changed or lost since its last turn, so it cannot go on with it. " +
    "Create a new session with a summary as its first message.",
  retryable: false
})
