// The two ways between this program and Linear: comments through its GraphQL API, and the proof that a call comes from Linear.

import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"

/** A call that is older, in milliseconds, may be one that somebody has recorded. */
const longestAge = 60_000

/** The call in a body, when Linear has signed exactly these bytes within a minute; undefined otherwise. */
export const callFromLinear = ({ body, secret, signature = "" }) => {
  const wanted = Buffer.from(createHmac("sha256", secret).update(body).digest("hex"))
  const given = Buffer.from(signature)
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined
  const call = JSON.parse(body.toString())
  return Math.abs(Date.now() - call.webhookTimestamp) <= longestAge ? call : undefined
}

/** Linear was reached, and does not do it. */
export class LinearRefusal extends Error {}

/** The same id for the same text, in the form that Linear wants ids of comments in. */
const uuidOf = (text) => {
  const bytes = createHash("sha256").update(text).digest().subarray(0, 16)
  bytes[6] = (bytes[6] & 0x0f) | 0x40
  bytes[8] = (bytes[8] & 0x3f) | 0x80
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}

const create =
  "mutation Comment($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id } } }"
const find = "query Comment($id: String!) { comment(id: $id) { id } }"

/** The ways to Linear. */
export const linearApi = ({ apiKey, url = "https://api.linear.app/graphql" }) => {
  /** Gives the data of an answer. It waits while Linear asks for a pause or is away. */
  const ask = async (query, variables) => {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(url, {
        method: "POST",
        headers: { authorization: apiKey, "content-type": "application/json" },
        body: JSON.stringify({ query, variables }),
        signal: AbortSignal.timeout(10_000)
      }).catch((error) => error)
      const answer = response instanceof Error || response.status >= 500 ? undefined : await response.json()
      // A limit is an error with this code, whatever the status is.
      const isLimit = answer?.errors?.some(({ extensions }) => extensions?.code === "RATELIMITED") === true
      if (answer === undefined || isLimit) await sleep(Math.min(60_000, 500 * 2 ** attempt))
      else if (answer.errors === undefined) return answer.data
      else throw new LinearRefusal(answer.errors.map(({ message }) => message).join("\n"))
    }
  }
  return {
    /** Writes a comment. The same `key` never writes two. */
    comment: async ({ body, issueId, key }) => {
      const id = uuidOf(key)
      try {
        await ask(create, { input: { id, issueId, body } })
      } catch (error) {
        // A comment with this id was written before the program was ended.
        const isThere = await ask(find, { id }).then(
          () => true,
          () => false
        )
        if (!isThere) throw error
      }
    }
  }
}
