import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, ParseResult, Schema } from "effect"
import { ChangesetStore } from "../../changes/ChangesetStore.js"
import type { WorkspaceSeed } from "../../sessions/creation/SessionOrigin.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"

/** The files of a changeset as the beginning of the session that goes on from its session. */
export const makeSeed = Effect.gen(function* () {
  const changesets = yield* ChangesetStore

  return Effect.fnUntraced(function* (session: SessionRow, changesetId: string) {
    const changeset = yield* changesets.find(changesetId)
    if (changeset === undefined || changeset.session_id !== session.id) {
      return yield* invalidChangeset(changesetId, "it is no changeset of this session")
    }
    if (changeset.tree === null) return yield* invalidChangeset(changesetId, "the changeset is not sealed")
    const seed: WorkspaceSeed = {
      changeset_id: changeset.id,
      session_id: session.id,
      base_commit: changeset.base_commit,
      tree: changeset.tree
    }
    return seed
  })
})

const invalidChangeset = (id: string, why: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", "changeset_id"],
    issue: new ParseResult.Type(Schema.String.ast, id, why),
    input: id
  })
