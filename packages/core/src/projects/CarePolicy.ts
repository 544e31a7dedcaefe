import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import { BudgetInput } from "../budgets/Budget.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

export const CareOf = Schema.Literal("off", "propose", "fix").annotations({
  identifier: "CareOf",
  description:
    "`off`: nothing. `propose`: a turn works on it, and a person delivers what it has made. `fix`: Reins delivers it too."
})
export type CareOf = typeof CareOf.Type

export const CareDelivers = Schema.Literal("own_turns", "every_turn").annotations({
  identifier: "CareDelivers",
  description:
    "`own_turns`: those that care begins. `every_turn`: also those that people, keys and automations begin. Each that succeeds and has changed files becomes one commit."
})
export type CareDelivers = typeof CareDelivers.Type

/** A pattern of paths: `*` for a part of a name, `**` for any folders. */
const PathPattern = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(300))

/** The files of the CI, which care does not deliver changes of unless a policy names others. */
export const ciFiles: ReadonlyArray<string> = [".github/workflows/**", ".gitlab-ci.yml", ".gitea/**", ".forgejo/**"]

export const CareInput = Schema.Struct({
  checks: field(optional(CareOf), "What is done about checks that have failed; `off` when absent."),
  reviews: field(
    optional(CareOf),
    "What is done about comments and reviews of people who may write to the repository; `off` when absent."
  ),
  conflicts: field(
    optional(CareOf),
    "What is done about conflicts with the base branch; `off` when absent. A person is then asked, while checks or reviews are cared for."
  ),
  max_turns: field(
    optional(Schema.Int.pipe(Schema.between(1, 20))),
    "The most turns before a person is asked; 5 when absent."
  ),
  budget: field(
    optional(BudgetInput),
    "What the model calls of all its turns together may spend; no limit when absent."
  ),
  rerun_first: field(
    optional(Schema.Boolean),
    "True begins a failed check anew once before a turn works on it, where the forge can; true when absent."
  ),
  bots: field(
    optional(Schema.Array(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100))).pipe(Schema.maxItems(20))),
    "The logins of bots whose comments count like those of people; none when absent."
  ),
  reply: field(
    optional(Schema.Literal("summary", "off")),
    "`summary` writes one comment on the merge request for each turn of care and when a person is asked; `summary` when absent."
  ),
  deliver: field(
    optional(CareDelivers),
    "The turns whose changes are delivered on top of the branch; `own_turns` when absent."
  ),
  protected_paths: field(
    optional(Schema.Array(PathPattern).pipe(Schema.maxItems(50))),
    "Files that only a person delivers changes of, as `.github/workflows/**`. The files of the CI of the known forges when absent."
  )
}).annotations({
  identifier: "CareInput",
  description: "How Reins cares for a merge request until it is merged."
})
export type CareInput = typeof CareInput.Type
