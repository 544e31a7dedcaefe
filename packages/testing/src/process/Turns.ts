import type { Reins } from "@reins/client"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert } from "vitest"

/** A script whose turn runs until it is ended: a tool has run, and the model never goes on. */
export const endless = (cmd = "echo begun"): string => script("Wait.", { tool: "bash", cmd }, { hang: true })

/** A script whose turn runs until it is ended: a tool runs and does not end. */
export const endlessTool = (cmd = "tail -s 37 -f /dev/null"): string =>
  script("Wait.", { tool: "bash", cmd }, { say: "never" })

/** Sends a message and waits until its turn has come to an event. */
export const beginTurn = async (
  client: Reins,
  session_id: string,
  content = endless(),
  type: "tool.started" | "tool.completed" = "tool.completed"
) => {
  const { operation, turn_id = "" } = await client.messages.send({ session_id, content })
  for await (const event of client.sessions.stream({ session_id }))
    if (event.type === type && event.turn_id === turn_id) break
  const { lease_id } = (await client.sessions.get({ session_id })).executor
  return { turn_id, operation_id: operation?.id ?? "", job_id: operation?.job_id ?? "", lease_id: lease_id ?? "" }
}

/** Checks that the session goes on and its agent answers. */
export const assertAnswers = async (client: Reins, session_id: string): Promise<void> => {
  const { text, turn } = await client.run({ session_id, content: script("Go on.", { say: "Here I am." }) }).final()
  assert.deepStrictEqual([turn.state, text.trim()], ["succeeded", "Here I am."], JSON.stringify(turn))
}

/** Checks that the job has one attempt, which says that a killed server left it behind. */
export const assertWorkerLost = async (client: Reins, job_id: string): Promise<void> => {
  const { attempts } = await client.jobs.get({ job_id })
  assert.deepStrictEqual(
    attempts.map(({ error, state }) => [state, error?.code]),
    [["abandoned", "worker_lost"]]
  )
  assert.match(attempts[0]?.error?.message ?? "", /^Its worker .* ended before it was done; .* took over\.$/)
}

/** Every event of a session, whose numbers have neither a gap nor a repetition. */
export const wholeLog = async (client: Reins, session_id: string) => {
  const all = []
  for (let after = 0; ; ) {
    const page = await client.sessions.listEvents({ session_id, after, limit: 1000 })
    all.push(...page.items)
    if (!page.has_more) break
    after = page.next_after
  }
  assert.deepStrictEqual(
    all.map(({ seq }) => seq),
    upTo(all.length)
  )
  return all
}

/** The numbers of the first so many events. */
export const upTo = (seq: number): ReadonlyArray<number> => Array.from({ length: seq }, (_, index) => index + 1)

/** The items of all pages of a list. */
export const allPages = async <A>(
  list: (page: { readonly cursor?: string }) => Promise<{
    readonly items: ReadonlyArray<A>
    readonly next_cursor: string | null
  }>
): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await list(cursor === undefined ? {} : { cursor })
    all.push(...page.items)
    cursor = page.next_cursor
  }
  return all
}
