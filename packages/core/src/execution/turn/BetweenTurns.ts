import type { NewEvent } from "@reins/base/domain/Event"
import { toMillis } from "@reins/base/domain/Timestamp"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { ApplicationStore } from "../../changes/ApplicationStore.js"
import type { CapturedTree } from "../../changes/Capture.js"
import { ChangesetStore } from "../../changes/ChangesetStore.js"
import { UploadStore } from "../../sessions/messages/UploadStore.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import type { Turn } from "../../sessions/rows/Turn.js"

/** More files than these are told of as one. */
const maxTold = 50

/**
 * The events for files that a capture holds and no turn has written: they differ from the capture before, and were there before the agent was
 * asked. Something that an earlier turn has left may write them, or whoever has the machine. Uploads and applications tell of themselves.
 * A file that is gone again cannot be told.
 */
export const betweenTurns = Effect.gen(function* () {
  const applications = yield* ApplicationStore
  const changesets = yield* ChangesetStore
  const { changes } = yield* Bench
  const uploads = yield* UploadStore

  return Effect.fnUntraced(
    function* (session: SessionRow, turn: Turn, captured: CapturedTree) {
      const last = yield* changesets.newestSealed(session.id)
      if (last === undefined || last.tree === null || last.tree === captured.tree || turn.started_at === null) return []
      const written = yield* changes.writtenBefore({
        session: session.id,
        from: last.tree,
        to: captured.tree,
        before: toMillis(turn.started_at)
      })
      if (written.length === 0) return []
      const known = new Set([...(yield* uploads.pathsOf(session.id)), ...(yield* applications.pathsOf(session.id))])
      const paths = written.filter((path) => !known.has(path))
      return (paths.length > maxTold ? [null] : paths).map(
        (path): NewEvent => ({
          type: "workspace.changed",
          payload: { base_commit: session.tree.base_commit, path },
          subjects: { turn_id: turn.id }
        })
      )
    },
    // The changeset has the captured files in any case.
    Effect.catchTag("GitError", () => Effect.succeed<ReadonlyArray<NewEvent>>([]))
  )
})
