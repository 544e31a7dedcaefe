import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { Context, Effect, Layer } from "effect"
import { AgentPool } from "../agents/AgentPool.js"
import { digestOf } from "../base/CanonicalJson.js"
import { fn } from "../base/Traced.js"
import { Providers } from "../catalog/Providers.js"
import type { Principal } from "../domain/Principal.js"
import { ReinsError } from "../domain/ReinsError.js"
import { Harness } from "../harness/Harness.js"
import { turnActive } from "../sessions/Refusals.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
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
      const harness = yield* Harness
      const trees = yield* WorkingTrees
      const agents = yield* AgentPool

      return NativeStateExport.of({
        read: fn("NativeStateExport.read")(function* (principal, sessionId) {
          const session = yield* store.readable(principal, sessionId)
          yield* providers.requireCapability(session.provider_id, "native_state_export")
          if (session.turns.active !== null) return yield* turnActive(session)
          const manifest = yield* providers.requireEnabled(session.provider_id)
          const { home } = yield* trees.owned(session.id)
          // An agent that is kept for the next turn may still have something to write.
          if (session.executor.lease !== null) yield* agents.stop(session.executor.lease.id)
          const { digest, files } = yield* harness.nativeState(manifest, home)
          if (digest === null) return yield* nothingKept(session)
          const size = files.reduce((sum, file) => sum + file.size, 0)
          if (size > maxStateBytes) return yield* tooLarge(size)
          const contents = new Map<string, Array<Uint8Array>>(files.map((file) => [file.path, []]))
          let taken = 0
          const again = yield* harness.nativeState(manifest, home, (path, piece) => {
            // A turn that has begun meanwhile may write without end, so the content is cut at the limit.
            taken += piece.length
            if (taken <= maxStateBytes) contents.get(path)?.push(piece)
          })
          // The content of the archive must match the digest, and a turn may have begun meanwhile.
          if (again.digest !== digest) return yield* turnActive(session)
          const archive = yield* archiveOf(contents)
          return {
            format: "tar+gzip" as const,
            encoding: "base64" as const,
            content: archive.toString("base64"),
            digest: digestOf(archive),
            state_digest: digest,
            files
          }
        })
      })
    })
  )
}

const blockBytes = 512

/** The files as a compressed tar. Equal contents give the same bytes. */
const archiveOf = (contents: ReadonlyMap<string, ReadonlyArray<Uint8Array>>) =>
  Effect.promise(async () => {
    const tar = await import("tar")
    const entries = [...contents].flatMap(([path, pieces]) => {
      const content = Buffer.concat(pieces)
      return [...headerOf(tar, path, content.length), content, Buffer.alloc(-content.length & (blockBytes - 1))]
    })
    return promisify(gzip)(Buffer.concat([...entries, Buffer.alloc(2 * blockBytes)]))
  })

const headerOf = ({ Header, Pax }: typeof import("tar"), path: string, size: number): ReadonlyArray<Buffer> => {
  const fields = { path, size, mode: 0o600, mtime: new Date(0), type: "File" as const }
  const header = new Header(fields)
  const needsMore = header.encode()
  if (header.block === undefined) throw new Error(`no header for ${path}`)
  return needsMore ? [new Pax(fields).encode(), header.block] : [header.block]
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
