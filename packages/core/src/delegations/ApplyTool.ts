import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { Effect, Schema } from "effect"
import { ApplicationStrategy } from "../changes/Application.js"
import { TurnApplications } from "../changes/TurnApplications.js"
import { makeTool, ToolFailed } from "../tools/Tool.js"
import { changesFields, makeChangesOf, optionalInput } from "./NamedDelegation.js"

/** The most paths of a list that a model is told. */
const mostPaths = 200

/** Brings the changes of a delegation into the working tree of the agent. A repetition finds the files as they should be, and changes nothing. */
export const applyTool = Effect.gen(function* () {
  const applications = yield* TurnApplications
  const changesOf = yield* makeChangesOf
  return makeTool({
    name: "apply_changeset",
    description:
      "Brings the changes of a changeset into your working tree, by a three-way merge with what is there. " +
      "It writes all of them or none: with conflicts it names their paths, and you make these changes yourself from read_diff.",
    is_read_only: false,
    input: Schema.Struct({
      ...changesFields,
      strategy: optionalInput(
        ApplicationStrategy.annotations({
          description: "three_way merges, which is so when absent; exact wants the touched files as they were."
        })
      ),
      dry_run: optionalInput(Schema.Boolean.annotations({ description: "True only tells what would be written." }))
    }),
    keyOf: ({ rootTurnId }, input) => `apply_changeset:${rootTurnId}:${canonicalJson(input)}`,
    run: Effect.fnUntraced(function* (turn, { dry_run = false, strategy = "three_way", ...named }) {
      const id = yield* changesOf(turn, named)
      const { changed, conflicts, reason_message, state } = yield* applications.apply(turn.principal, id, {
        strategy,
        dryRun: dry_run
      })
      if (state === "failed")
        return yield* new ToolFailed({
          message: reason_message ?? "The changes could not be applied.",
          ...(changed.length > 0 && { mayHaveHappened: true })
        })
      return {
        changeset_id: id,
        state,
        changed: changed.slice(0, mostPaths),
        changed_count: changed.length,
        conflicts: conflicts.slice(0, mostPaths),
        conflict_count: conflicts.length
      }
    })
  })
})
