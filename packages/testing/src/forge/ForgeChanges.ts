import { Schema } from "effect"
import type { Answer, Pull } from "./ForgeServer.js"

/** An operation whose answer shows a merge request. */
export type PullOperation = "list" | "create" | "get" | "change" | "merge"

/** The server's part that changes of merge requests are about. */
export interface ChangesHeld {
  readonly pulls: ReadonlyArray<Pull>
  readonly shown: (pull: Pull) => unknown
}

const Mutation = Schema.parseJson(
  Schema.Struct({ query: Schema.String, variables: Schema.Struct({ id: Schema.String }) })
)
const Titled = Schema.parseJson(Schema.Struct({ title: Schema.String }))

/** The id of a pull request in GraphQL. */
export const nodeIdOf = ({ number }: Pick<Pull, "number">): string => `PR_${number}`

/** A title of a draft, in the words of one product. */
export const isDraftTitle = {
  gitlab: (title: string): boolean => /^\s*(?:draft:|\[draft\]|\(draft\))/i.test(title),
  gitea: (title: string): boolean => /^\s*(?:wip:|\[wip\])/i.test(title)
}

const readyMutation = "markPullRequestReadyForReview"
const draftMutation = "convertPullRequestToDraft"

const answerMutation = ({ pulls }: ChangesHeld, raw: string): Answer | undefined => {
  const { query, variables } = Schema.decodeUnknownSync(Mutation)(raw)
  if (!query.includes(readyMutation) && !query.includes(draftMutation)) return undefined
  const pull = pulls.find((each) => nodeIdOf(each) === variables.id)
  if (pull?.state !== "open") {
    const message = "Could not resolve to an open PullRequest."
    return { status: 200, body: { data: { changed: null }, errors: [{ type: "UNPROCESSABLE", message }] } }
  }
  pull.draft = query.includes(draftMutation)
  return { status: 200, body: { data: { changed: { pullRequest: { isDraft: pull.draft } } } } }
}

/** Answers a change of a merge request; undefined for any other call. `rest` is the path below the repository. */
export const answerChange = (held: ChangesHeld, method: string, rest: string, raw: string): Answer | undefined => {
  if (rest === "/graphql") return raw.includes("mutation") ? answerMutation(held, raw) : undefined
  const [, gitlab] = (method === "PUT" && /^\/merge_requests\/(\d+)$/.exec(rest)) || []
  const [, gitea] = (method === "PATCH" && /^\/pulls\/(\d+)$/.exec(rest)) || []
  const pull = held.pulls.find(({ number }) => String(number) === (gitlab ?? gitea))
  if (pull === undefined) return undefined
  const { title } = Schema.decodeUnknownSync(Titled)(raw)
  pull.title = title
  pull.draft = (gitlab === undefined ? isDraftTitle.gitea : isDraftTitle.gitlab)(title)
  return { status: gitlab === undefined ? 201 : 200, body: held.shown(pull) }
}

/** The issues that the text of a merge request says it closes. */
export const closedBy = (text: string): ReadonlyArray<number> =>
  [...text.matchAll(/\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?) #(\d+)\b/gi)].map(([, issue]) => Number(issue))
