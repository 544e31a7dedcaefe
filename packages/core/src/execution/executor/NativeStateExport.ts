import { digestOf } from "@reins/base/base/CanonicalJson"
import { fn } from "@reins/base/base/Traced"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Bench } from "@reins/machine/bench/Bench"
import { Context, Effect, Layer } from "effect"
import { Providers } from "../../catalog/Providers.js"
import { turnActive } from "../../sessions/rows/Refusals.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { WorkingTrees } from "../../worktrees/WorkingTrees.js"
import type { NativeState } from "./ExecutorApi.js"

/** The refusals of an export. */
type Unexported = ReinsError<
  "not_found" | "provider_disabled" | "unsupported_capability" | "turn_active" | "payload_too_large"
>

/** The limit on the bytes of an exported state. */
const maxStateBytes = 25 * 1024 * 1024

/** Exports the agent's own record of a conversation, so that people can keep it or read it. */
export class NativeStateExport extends Context.Tag("@reins/core/execution/NativeStateExport")<
  NativeStateExport,
  {
    /**
     * Fails with `unsupported_capability` for a provider without `native_state_export`, with `turn_active` while the agent works, and
     * with `not_found` before its first turn and after the session was closed.
     */
    readonly read: (principal: Principal, sessionId: string) => Effect.Effect<NativeState, Unexported>
  }
>() {
  static readonly layer = Layer.effect(
    NativeStateExport,
    Effect.gen(function* () {
      const store = yield* SessionStore
      const providers = yield* Providers
      const trees = yield* WorkingTrees
      const { agents } = yield* Bench

      return NativeStateExport.of({
        read: fn("NativeStateExport.read")(function* (principal, sessionId) {
          const session = yield* store.readable(principal, sessionId)
          yield* providers.requireCapability(session.provider_id, "native_state_export")
          if (session.turns.active !== null) return yield* turnActive(session)
          const { provider_id } = yield* providers.requireEnabled(session.provider_id)
          yield* trees.requireOwned(session.id)
          // An agent that is kept for the next turn may still have something to write.
          if (session.executor.lease !== null) yield* agents.stop(session.executor.lease.id)
          const record = yield* agents.record(session.id, provider_id, maxStateBytes)
          if (record._tag === "none") return yield* nothingKept(session)
          if (record._tag === "large") return yield* tooLarge(record.size)
          if (record._tag === "moved") return yield* turnActive(session)
          return {
            format: "tar+gzip" as const,
            encoding: "base64" as const,
            content: Buffer.from(record.archive).toString("base64"),
            digest: digestOf(record.archive),
            state_digest: record.digest,
            files: record.files
          }
        })
      })
    })
  )
}

const nothingKept = (session: SessionRow): ReinsError<"not_found"> =>
  new ReinsError({
    code: "not_found",
    message:
      session.tree.state === "removed"
        ? "The session is closed and the agent's own files are removed."
        : "The agent has kept nothing yet. Its record begins with the first turn: send a message first.",
    details: { workspace: session.tree.state }
  })

const tooLarge = (size: number): ReinsError<"payload_too_large"> =>
  new ReinsError({
    code: "payload_too_large",
    message: `The agent's state has ${size} bytes; ${maxStateBytes} can be exported.`,
    details: { limit_bytes: maxStateBytes, size }
  })
