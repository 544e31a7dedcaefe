import { remote, token } from "@reins/testing/changes/Fixture"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()

let scope: Scope.CloseableScope
let origin: Effect.Effect.Success<ReturnType<typeof remote>>
let connectionId: string

beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
  origin = await Effect.runPromise(Scope.extend(remote("gitea"), scope))
  const made = await world().client.connections.create({
    workspace_id: world().workspaceId,
    kind: "gitea",
    label: "forge",
    credential: { base_url: origin.base, token }
  })
  connectionId = made.id
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

const task = script("Do it.", { tool: "write", path: "a.md", content: "A.\n" }, { say: "It is done." })

describe("readiness and replies", () => {
  it("it becomes a draft and ready, words stand on the forge, and refusals name what mends them", async () => {
    await succeed("run", task, "--model", "scripted-1", "--repo", origin.url, "--request")
    const { items } = await world().client.mergeRequests.list({ workspace_id: world().workspaceId, limit: 1 })
    const id = items[0]?.id ?? assert.fail("no merge request")
    const { forge } = origin
    const pull = forge.pulls[0] ?? assert.fail("no pull request")

    assert.include((await succeed("mr", "ready", id)).stderr, "It is ready for review.")
    assert.isFalse(pull.draft)
    assert.include((await succeed("mr", "draft", id)).stderr, "It is a draft.")
    assert.isTrue(pull.draft)
    assert.include((await succeed("mr", "draft", id)).stderr, "It is a draft.")
    assert.isFalse(JSON.parse((await succeed("mr", "ready", id, "--json")).stdout).draft)

    forge.comment({ author: "cleo", body: "Why?", place: { path: "a.md", line: 1, side: "new" } })
    await succeed("mr", "look", id)
    const thread = /thr_\w+/.exec((await succeed("mr", "show", id)).stdout)?.[0] ?? assert.fail("no thread")
    assert.include((await succeed("mr", "reply", id, "Thank", "you", "all.")).stderr, "It is on the forge.")
    await succeed("mr", "reply", id, "--thread", thread, "It is a float.")
    assert.deepStrictEqual(
      forge.comments.map(({ body, place }) => [body.split("\n")[0], place?.path]),
      [
        ["Why?", "a.md"],
        ["Thank you all.", undefined],
        ["It is a float.", "a.md"]
      ]
    )
    await succeed("mr", "look", id)
    const { stdout } = await succeed("mr", "show", id)
    assert.include(stdout, "Thank you all.")
    assert.notInclude(stdout, "reins:")

    assert.include(await refuse("mr", "reply", id, " "), "Write at least one word.")
    assert.include(await refuse("mr", "reply", id, "x".repeat(4_001)), "has at most 4000 characters")
    assert.include(
      await refuse("mr", "reply", id, "--thread", "thr_none", "Hello?"),
      `has no thread "thr_none". See: reins merge-requests show ${id}`
    )
    forge.odd.forbidden = `/issues/${pull.number}/comments`
    assert.include(await refuse("mr", "reply", id, "Hello?"), "Nothing was written.")
    forge.odd.forbidden = undefined
    await world().client.connections.update({ connection_id: connectionId, state: "disabled" })
    assert.include(await refuse("mr", "draft", id), "connection of the merge request is not active")
    await world().client.connections.update({ connection_id: connectionId, state: "active" })
    pull.state = "closed"
    await succeed("mr", "look", id)
    assert.notStrictEqual(await refuse("mr", "draft", id), "")
    assert.lengthOf(forge.comments, 3)
  })
})
