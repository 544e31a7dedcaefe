import { fn } from "@reins/base/base/Traced"
import type { Principal } from "@reins/base/domain/Principal"
import { Context, Effect, Layer } from "effect"
import type { Unseen } from "../access/Access.js"
import type { ExportFormat } from "./ExportsApi.js"
import { writeJson } from "./JsonExport.js"
import { writeMarkdown } from "./MarkdownExport.js"
import { type Part, readParts } from "./SessionParts.js"

/** Sessions as files, without secrets. The same session gives the same file. */
export class Exports extends Context.Tag("@reins/core/exports/Exports")<
  Exports,
  {
    /**
     * The text of a session in pieces, which are read as they are taken, so that no session has to fit into memory. Fails with `not_found` for a
     * session that the principal may not see. So does the text, when the principal loses sight of the session meanwhile.
     */
    readonly write: (
      principal: Principal,
      sessionId: string,
      format: ExportFormat
    ) => Effect.Effect<Part<string>, Unseen>
  }
>() {
  static readonly layer = Layer.effect(
    Exports,
    Effect.map(readParts, (read) =>
      Exports.of({
        write: fn("Exports.write")(function* (principal, sessionId, format) {
          const parts = yield* read(principal, sessionId)
          return format === "json" ? writeJson(parts) : writeMarkdown(parts)
        })
      })
    )
  )
}
