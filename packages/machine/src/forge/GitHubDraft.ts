import { Effect, Schema } from "effect"
import { actsBy } from "./Acting.js"
import { type Ask, decodeAnswer, ForgeError } from "./Forge.js"

const Pull = Schema.Struct({
  node_id: Schema.String,
  draft: Schema.optionalWith(Schema.Boolean, { default: () => false })
})

const Outcome = Schema.Struct({
  data: Schema.Struct({
    changed: Schema.Struct({ pullRequest: Schema.Struct({ isDraft: Schema.Boolean }) })
  })
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
    const { data } = yield* decodeAnswer(Outcome)(answer)
    if (data.changed.pullRequest.isDraft !== draft) return yield* unchanged
  })
}

const unchanged = new ForgeError({
  kind: "rejected",
  message: "GitHub does not change the draft, and gives no reason: change it on the page of the pull request."
})
