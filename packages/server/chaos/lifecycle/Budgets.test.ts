import type { Budget, Reins } from "@reins/client"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import * as fc from "fast-check"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { budgetedRuns, seed } from "../Volume.js"

const place = placeForEachTest()

/** The gateway says so many tokens for each call. */
const callTokens = 1020

/** The trees that work at the same time, each a session with children, of which each has one call out at a time. */
const treesAtOnce = 8
const children = 2
const agents = 1 + children

const long = Array.from({ length: 12 }, () => ({ tool: "bash", cmd: "true", say: "I go on and on.", slow_ms: 40 }))

/** A run: a cap in tokens that is reached after some calls, and the call of those beside each other at which the server is killed. */
const run = fc.record({
  cap: fc.integer({ min: 1, max: 14 * callTokens }),
  killAtCall: fc.integer({ min: 1, max: 40 })
})

interface Tree {
  readonly id: string
  readonly mark: string
  readonly cap: number
}

/** Starts a session with a budget, whose agent works beside those of its children. */
const begin = async (client: Reins, workspace_id: string, mark: string, cap: number): Promise<Tree> => {
  const { id } = await client.sessions.create({
    workspace_id,
    harness: { provider_id: "alpha", model: "scripted-1" },
    budget: { max_tokens: cap },
    message: script(`${mark}.`, ...long, { say: "Done." })
  })
  for (let child = 0; child < children; child++)
    await client.sessions.delegate({
      session_id: id,
      role: "worker",
      instructions: script(`${mark}.`, ...long, { say: "Done." })
    })
  return { id, mark, cap }
}

/** Lets the agent of a session that was killed spend what is left. */
const goOn = async (client: Reins, { id, mark }: Tree): Promise<void> => {
  const { items } = await client.turns.list({ session_id: id })
  for (const { id: turn_id, state } of items) if (state === "interrupted") await client.turns.acknowledge({ turn_id })
  await client.messages.send({ session_id: id, content: script(`${mark}.`, ...long, { say: "Done." }) })
}

/** A turn of the session is at work, or waits for its time. */
const isWorking = async (client: Reins, { id }: Tree): Promise<boolean> =>
  ["queued", "running"].includes((await client.sessions.get({ session_id: id })).activity)

/** The tokens that the gateway has said for the calls of a tree. Not all of them were heard by a server that was killed. */
const saidFor = ({ mark }: Tree): number =>
  place.gateway.requests.filter(({ messages }) => messages.some(({ text }) => text.includes(`${mark}.`))).length *
  callTokens

it(`${budgetedRuns} runs with parallel children and kills exceed their cap by at most the calls in flight (REINS_CHAOS_SEED=${seed})`, async () => {
  const env = {
    REINS_CACHE_DIR: cacheWithSmallAgent(place.directory),
    REINS_EXECUTOR: "local",
    REINS_MAX_RUNNING_TURNS: "24"
  }
  const start = () => startServer({ dataDir: place.dataDir, env })
  let server = await start()
  const caller = await newCaller(server, place.dataDir, place.gateway)
  const samples = fc.sample(run, { seed, numRuns: budgetedRuns })
  let [reached, lost, most] = [0, 0, 0]
  for (let first = 0; first < samples.length; first += treesAtOnce) {
    const runs = samples.slice(first, first + treesAtOnce)
    const before = caller.at(server)
    const asked = place.gateway.requests.length
    const trees = await Promise.all(
      runs.map(({ cap }, index) => begin(before, caller.workspaceId, `tree-${first + index}`, cap))
    )
    const killAt = asked + (runs[0]?.killAtCall ?? 1)
    await eventually("the call to be killed at, or every cap to be reached", async () => {
      if (place.gateway.requests.length >= killAt) return true
      return !(await Promise.all(trees.map((tree) => isWorking(before, tree)))).includes(true)
    })
    server.kill("SIGKILL")
    await server.ended
    server = await start()
    const client = caller.at(server)
    for (const tree of trees) await eventually("the killed turn", async () => !(await isWorking(client, tree)), 60_000)
    for (const tree of trees) await goOn(client, tree)
    for (const tree of trees) {
      await eventually("the turn to end or to wait", async () => !(await isWorking(client, tree)), 60_000)
      await client.sessions.close({ session_id: tree.id })
    }
    for (const tree of trees) {
      const whole = async (): Promise<Budget> =>
        (await client.sessions.get({ session_id: tree.id })).budget ?? assert.fail("no budget")
      const budget = await whole()
      const inFlight = agents + budget.estimated_calls
      assert.isAtMost(budget.estimated_calls, agents, "a run is killed once, with one call of each agent in flight")
      const said = saidFor(tree)
      assert.isBelow(said, tree.cap + inFlight * callTokens, JSON.stringify({ tree, budget, said }))
      assert.isAtLeast(
        budget.spent_tokens,
        said - budget.estimated_calls * callTokens,
        JSON.stringify({ tree, budget })
      )
      if (budget.exhausted) reached++
      lost += budget.estimated_calls
      most = Math.max(most, said - tree.cap)
    }
  }
  process.stdout.write(
    `${samples.length} runs, ${reached} reached their cap, ${lost} calls were in flight at a kill, at most ${most} tokens beyond a cap, seed ${seed}\n`
  )
  assert.isAtLeast(reached, samples.length / 4)
}, 3_600_000)
