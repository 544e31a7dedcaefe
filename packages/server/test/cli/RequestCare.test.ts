import { ReinsApiError } from "@reins/client"
import { remote, token } from "@reins/testing/changes/Fixture"
import { eventually } from "@reins/testing/process/Waiting"
import { variants } from "@reins/testing/Variants"
import { Effect, Exit, Scope } from "effect"
import { type Step, script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { beginWithin, reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()

let scope: Scope.CloseableScope
let origin: Effect.Effect.Success<ReturnType<typeof remote>>

beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
  origin = await Effect.runPromise(Scope.extend(remote("gitea"), scope))
  await world().client.connections.create({
    workspace_id: world().workspaceId,
    kind: "gitea",
    label: "forge",
    credential: { base_url: origin.base, token }
  })
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const succeed = async (...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = await reinsAt(world().at, args)
  assert.strictEqual(status, 0, stderr)
  return { stderr, stdout }
}

const refuse = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { status, stderr } = await reinsAt(world().at, args)
  assert.strictEqual(status, 1, stderr)
  return stderr
}

const write = (path: string, content: string): Step => ({ tool: "write", path, content })
const task = (path: string) => script("Do it.", write(path, "wrong\n"), { say: "It is done." })
/** The log of a check that failed. The scripted model does what the script in it says. */
const redLog = (...steps: ReadonlyArray<Step>) => script("1 test failed.", ...steps)

const runWords = (path: string, ...more: ReadonlyArray<string>) => [
  "run",
  task(path),
  "--model",
  "scripted-1",
  "--repo",
  origin.url,
  "--request",
  ...more
]

const newest = async () => {
  const { items } = await world().client.mergeRequests.list({ workspace_id: world().workspaceId, limit: 1 })
  return items[0]
}

/** The head of the newest pull request of the forge; undefined before there is one. */
const headNow = () => origin.headOf(origin.forge.pulls.at(-1)?.head ?? "")

/** Has the forge read, because no hook of it calls. */
const look = async () => {
  const request = await newest()
  if (request?.state !== "open") return
  await world()
    .client.mergeRequests.look({ merge_request_id: request.id })
    .catch((error: unknown) => {
      // It may be merged since it was read.
      if (!(error instanceof ReinsApiError) || error.code !== "invalid_transition") throw error
    })
}

/** A look of the service costs far more than to see whether its result has come. */
const asksOfALook = 20

/** Has the forge read again and again until it is so. */
const looked = (what: string, isSo: () => boolean | Promise<boolean>) => {
  let asks = 0
  return eventually(what, async () => {
    if (asks++ % asksOfALook === 0) await look()
    return isSo()
  })
}

const opens = (count: number) => eventually("an open pull request", () => origin.forge.pulls.length === count)

describe("care and merge conditions", () => {
  it("a run goes from a red check to merged in one line", async () => {
    assert.include(await refuse("run", "x", "--care", "fix"), "Add --request, which opens one.")
    const before = origin.forge.pulls.length
    const running = beginWithin(world().at, runWords("a.md", "--care", "fix", "--merge", "when-green"))
    await opens(before + 1)
    await eventually("the watch", () => running.output().includes("It is merged by itself, and waits for"))
    const first = headNow() ?? ""
    origin.forge.check({
      head: first,
      name: "test",
      state: "failed",
      log: redLog(write("a.md", "right\n"), { say: "Mended." })
    })
    await looked("another head", () => headNow() !== first)
    const second = headNow() ?? ""
    assert.strictEqual(origin.git("show", `${second}:a.md`), "right")
    origin.forge.check({ head: second, name: "test", state: "passed" })
    await looked("the merge", () => origin.headOf("main") === second)
    await looked("the end of the merge", async () => (await newest())?.state === "merged")
    const { status, stderr, stdout } = await running.finished
    assert.strictEqual(status, 0, stderr + stdout)
    assert.match(
      stdout,
      /The session mends failed checks, does what reviewers ask for and merges conflicts with the base branch\. 0 of 5 turns used\./
    )
    assert.match(stdout, /It is merged by itself, and waits for /)
    assert.match(stdout, /It is merged\.\n$/)
    assert.match(stderr, /^Merged\.$/m)
  })

  variants(() => {
    it("a run ends with 4 and the reason when care leaves it to a person, and its JSON has that", async () => {
      const before = origin.forge.pulls.length
      const running = beginWithin(world().at, runWords("b.md", "--care", "fix", "--merge", "when-required", "--json"))
      await opens(before + 1)
      const head = headNow() ?? ""
      origin.forge.check({ head, name: "test", state: "failed", log: redLog({ say: "I see nothing." }) })
      await looked("the hand over", async () => (await newest())?.care_state === "handed_over")
      const { status, stdout } = await running.finished
      assert.strictEqual(status, 4)
      const lines = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.strictEqual(lines.at(-2).type, "merge_request.care_handed_over")
      const last = lines.at(-1)
      assert.strictEqual(last.type, "result")
      assert.strictEqual(last.exit_code, 4)
      assert.deepInclude(last.care, { state: "handed_over", reason: "no_change", turns: 1 })
      assert.strictEqual(last.merge_request.conditions.state, "waiting")

      const { id } = last.merge_request
      assert.include((await succeed("mr", "ls", "--care", "handed_over")).stdout, id)
      const shown = (await succeed("mr", "show", id)).stdout
      assert.match(shown, /^It is left to a person\. The agent changed nothing\./m)
      assert.match(shown, /^It is merged by itself, and waits for the failed check test\.$/m)
      assert.include(shown, `Go on: reins merge-requests care ${id} --again`)
      const check = /chk_\w+/.exec(shown)?.[0] ?? assert.fail(shown)
      assert.match((await succeed("mr", "log", check)).stdout, /^1 test failed\./)
      assert.include(await refuse("mr", "rerun", id, "--check", "nope"), 'The head has no check "nope".')
      const watched = await reinsAt(world().at, ["mr", "watch", id])
      assert.strictEqual(watched.status, 4)
      assert.match(watched.stdout, /It is left to a person\. The agent changed nothing\./)
    })
  })

  it("the commands start and end care, deliver a proposal, and set and remove conditions", async () => {
    await succeed(...runWords("c.md"))
    const { id } = (await newest()) ?? assert.fail("none")
    assert.include((await succeed("mr", "care", id)).stdout, "Nobody cares for it.")
    assert.include(await refuse("mr", "care", id, "--off", "--checks", "fix"), "--off goes alone.")
    assert.include(await refuse("mr", "care", id, "--again"), "There was no care before.")
    const care = async (...words: ReadonlyArray<string>) =>
      JSON.parse((await succeed("mr", "care", id, ...words, "--json")).stdout)
    const first = await care("--checks", "propose", "--reviews", "off", "--max-turns", "3", "--budget", "200k")
    assert.deepInclude(first, { state: "watching", checks: "propose", reviews: "off", max_turns: 3 })
    assert.deepInclude(first, { deliver: "own_turns" })
    assert.deepInclude(await care("--deliver", "every-turn"), { checks: "propose", deliver: "every_turn" })
    assert.deepInclude(await care("--max-turns", "3"), { deliver: "every_turn" })
    assert.deepInclude(await care("--deliver", "own-turns"), { deliver: "own_turns" })
    assert.deepInclude(await care("--conflicts", "fix"), { checks: "propose", conflicts: "fix", max_turns: 3 })
    assert.deepInclude(await care("--conflicts", "off", "--reviews", "propose"), {
      checks: "propose",
      reviews: "propose",
      max_turns: 3
    })
    assert.include(await refuse("mr", "deliver", id, "--yes"), "Care has proposed no change")

    const conditions = (...words: ReadonlyArray<string>) => succeed("mr", "conditions", id, ...words)
    assert.include((await conditions()).stdout, "It has no merge conditions.")
    assert.include(await refuse("mr", "conditions", id, "--max-wait", "5"), "--max-wait has to be a time")
    assert.match(
      (await conditions("--checks", "all", "--approvals", "1")).stdout,
      /^It is merged by itself, and waits for/
    )
    const again = JSON.parse((await conditions("--method", "squash", "--max-wait", "12h", "--json")).stdout).conditions
    assert.deepInclude(again, { checks: "all", approvals: 1, method: "squash", max_wait_seconds: 43_200 })
    await looked("what they wait for", async () => (await conditions()).stdout.includes("an approval of this commit"))
    assert.include(
      await refuse("mr", "merge", id, "--when", "conditions", "--yes"),
      "Not all conditions of the merge hold"
    )
    assert.include((await conditions("--off")).stdout, "Nothing merges it by itself.")

    const head = headNow() ?? ""
    const log = redLog(write("c.md", "right\n"), { say: "Mended." })
    origin.forge.check({ head, name: "test", state: "failed", log })
    const attentions = async () => (await world().client.care.listAttentions({ merge_request_id: id })).items
    await looked("a proposal", async () => (await attentions()).some(({ state }) => state === "proposed"))
    assert.include((await succeed("mr", "care", id)).stdout, "A change is proposed.")
    assert.strictEqual(headNow(), head)
    assert.include(await refuse("mr", "deliver", id), "Say that you mean it with --yes.")
    assert.include((await succeed("mr", "deliver", id, "--yes")).stderr, "The change is on the branch")
    assert.strictEqual(origin.git("show", `${headNow()}:c.md`), "right")
    assert.include((await succeed("mr", "care", id, "--off")).stdout, "Care has ended. Somebody stopped it.")

    await conditions("--checks", "none")
    await looked("the merge", async () => (await newest())?.state === "merged")
    assert.include((await succeed("mr", "show", id)).stdout, "It is merged.")
  })
})
