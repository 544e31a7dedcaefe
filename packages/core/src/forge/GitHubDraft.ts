import { Effect, Schema } from "effect"
import { actsBy } from "./Acting.js"
import { type Ask, decodeAnswer, ForgeError } from "./Forge.js"

const Pull = Schema.Struct({
  node_id: Schema.String,
  draft: Schema.optionalWith(Schema.Boolean, { default: () => false })
})

/** GraphQL answers a refusal with 200 and its errors. */
const Outcome = Schema.Struct({
  data: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        changed: Schema.optional(
          Schema.NullOr(Schema.Struct({ pullRequest: Schema.NullOr(Schema.Struct({ isDraft: Schema.Boolean })) }))
        )
      })
    )
  ),
  errors: Schema.optional(Schema.Array(Schema.Struct({ type: Schema.optional(Schema.String), message: Schema.String })))
})

const mutationOf = (name: string): string =>
  `mutation($id:ID!){changed:${name}(input:{pullRequestId:$id}){pullRequest{isDraft}}}`

const mutations = { ready: mutationOf("markPullRequestReadyForReview"), draft: mutationOf("convertPullRequestToDraft") }

/** Sets whether a pull request is a draft, which GitHub does through GraphQL alone. */
export const gitHubDraft = (ask: Ask, root: string) => {
  const { changed, read } = actsBy(ask)
  return Effect.fnUntraced(function* (number: number, draft: boolean) {
    const pull = yield* Effect.flatMap(read({ method: "GET", path: `${root}/pulls/${number}` }), decodeAnswer(Pull))
    if (pull.draft === draft) return
    const query = draft ? mutations.draft : mutations.ready
    const answer = yield* changed({
      method: "POST",
      path: "",
      graphql: true,
      body: { query, variables: { id: pull.node_id } }
    })
    const { data, errors = [] } = yield* decodeAnswer(Outcome)(answer)
    if (data?.changed?.pullRequest?.isDraft === draft) return
    const [error] = errors
    return yield* new ForgeError({
      kind: error?.type === "FORBIDDEN" ? "forbidden" : "rejected",
      message: `GitHub does not change the draft: ${error?.message ?? "it gives no reason."}`
    })
  })
}
