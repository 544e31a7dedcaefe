import { cutText } from "@reins/base/base/CutText"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { Access, type Denied } from "../access/Access.js"
import { type HookDenied, Hooks } from "../hooks/Hooks.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { FilterPreview, FilterPreviewInput } from "./AutomationsApi.js"
import { holds, issueAt, reach, wants } from "./Filters.js"
import { payloadText } from "./PayloadText.js"

/** The most characters of a value that a condition found. */
const mostFound = 200

/** The most characters of data that may follow a message. */
const mostData = 64 * 1024

/** Tries what an automation looks at on a delivery that came, or on a sample. Nothing begins. */
export class FilterPreviews extends Context.Tag("@reins/core/automations/FilterPreviews")<
  FilterPreviews,
  {
    /**
     * Says whether a trigger would want the delivery, what each condition found, and what the agent would be told. A delivery that came is for owners
     * with the scope `admin`, as its receipt is. Fails with `invalid_transition` for one whose body is not kept.
     */
    readonly preview: (
      principal: Principal,
      workspaceId: string,
      input: FilterPreviewInput
    ) => Command<FilterPreview, Denied | HookDenied | ReinsError<"invalid_transition"> | RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    FilterPreviews,
    Effect.gen(function* () {
      const access = yield* Access
      const hooks = yield* Hooks
      const journal = yield* Journal

      const sampleOf = Effect.fnUntraced(function* (
        principal: Principal,
        workspaceId: string,
        { body, event, receipt_id }: FilterPreviewInput
      ) {
        if ((receipt_id === undefined) === (body === undefined)) return yield* oneOf
        if (receipt_id === undefined) return { event: event ?? null, body }
        const came = yield* hooks.delivered(principal, receipt_id)
        if (came.workspace_id !== workspaceId) return yield* notFound()
        return came
      })

      return FilterPreviews.of({
        preview: (principal, workspaceId, input) =>
          journal.prepared(
            "FilterPreviews.preview",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.read(principal, workspaceId)
              return Effect.succeed(shown(input, yield* sampleOf(principal, workspaceId, input)))
            })
          )
      })
    })
  )
}

const shown = (
  { closes, events, filter = [], pick }: FilterPreviewInput,
  sample: { readonly event: string | null; readonly body: unknown }
): FilterPreview => {
  const wanted = events === undefined ? {} : { events }
  return {
    matches: wants({ ...wanted, filter }, sample),
    event: sample.event,
    event_matches: wants(wanted, sample),
    conditions: filter.map((condition) => {
      const { throughList, values } = reach(sample.body, condition.pointer)
      return {
        pointer: condition.pointer,
        holds: holds(condition, sample.body),
        found: values.length === 0 ? null : cutText(JSON.stringify(throughList ? values : values[0]), mostFound)
      }
    }),
    data: payloadText(sample.body, pick, mostData) ?? null,
    closes: closes === undefined ? null : issueAt(closes, sample.body)
  }
}

const oneOf = new RequestInvalid({
  loc: ["body", "body"],
  issue: new ParseResult.Type(Schema.Unknown.ast, undefined, "give a sample as `body`, or a delivery as `receipt_id`"),
  input: undefined
})
