import { remote, token } from "@reins/testing/changes/Fixture"
import { eventually } from "@reins/testing/process/Waiting"
import { variants } from "@reins/testing/Variants"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { begin, beginWithin, reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()

let scope: Scope.CloseableScope
let origin: Effect.Effect.Success<ReturnType<typeof remote>>

beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
  origin = await Effect.runPromise(Scope.extend(remote("gitea"), scope))
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

/** Waits until a command has written the words. */
const seen = (output: () => string, words: string, prompt?: () => Promise<unknown>) =>
  eventually(`${words} in the output`, async () => {
    await prompt?.()
    return output().includes(words)
  })

const task = (path: string) => script("Do it.", { tool: "write", path, content: "done\n" }, { say: "It is done." })

let connected: Promise<unknown> | undefined
/** Connects the forge once, for whichever test comes first. */
const connect = () => {
  connected ??= world().client.connections.create({
    workspace_id: world().workspaceId,
    kind: "gitea",
    label: "forge",
    credential: { base_url: origin.base, token }
  })
  return connected
}

/** Runs a task to an open merge request, and gives the last line of the run. */
const opened = async (path: string) => {
  const words = [task(path), "--model", "scripted-1", "--repo", origin.url, "--request", "--json"]
  const { stdout } = await succeed("run", ...words)
  const result = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")
  assert.strictEqual(result.type, "result")
  return result.merge_request
}

describe("merge requests", () => {
  it("need a connection to the forge, and a run says where to add one", async () => {
    const words = [task("none.txt"), "--model", "scripted-1", "--repo", `${world().project.remote}`, "--request"]
    const said = await refuse("run", ...words)
    assert.include(said, `A merge request needs a connection to its forge: add one at ${world().url}/ui/connections.`)
    assert.include(await refuse("run", "x", "--detach", "--request"), "--detach does not go with --request")
  })

  it("a run opens one and says what it waits for, and the commands show, look, merge and follow it", async () => {
    await connect()
    const { at } = world()
    const words = [task("a.md"), "--model", "scripted-1", "--repo", origin.url, "--deliver", "--request"]
    const { stderr } = await succeed("run", ...words)
    assert.match(stderr, /^Merge request #1 into main: http/m)
    assert.match(stderr, /^Nothing is in the way of a merge\. No check has reported\.$/m)
    const id = /reins merge-requests watch (mr_\w+)/.exec(stderr)?.[1] ?? assert.fail(stderr)
    assert.match(origin.forge.pulls[0]?.body ?? "", /^It is done\.\n/)
    assert.isFalse(origin.forge.pulls[0]?.draft)

    const head = origin.headOf(origin.forge.pulls[0]?.head ?? "") ?? ""
    origin.forge.check({ head, name: "build", state: "passed" })
    const test = origin.forge.check({ head, name: "te\u001b[2Jst", state: "failed" })
    origin.forge.review({ author: "bob", state: "changes_requested", body: "Not\nyet." })
    const thread = origin.forge.comment({ author: "cleo", body: "Why?", place: { path: "a.md", line: 1, side: "new" } })
    const looked = (await succeed("merge-requests", "look", id)).stdout
    assert.strictEqual(
      looked,
      "It waits for the failed check test, a reviewer who asks for changes and an open thread.\n"
    )

    const shown = (await succeed("mr", "show", id)).stdout
    for (const line of [
      /^#1 /,
      /^Head +[0-9a-f]{10}, pushed by the session$/m,
      /^ {2}passing +build/m,
      /^ {2}failing +test/m,
      /^ {2}changes requested bob: Not yet\.$/m,
      /^ {2}thr_\w+ a\.md:1 open cleo: Why\?$/m,
      /^It waits for the failed check/m
    ])
      assert.match(shown, line)
    assert.notInclude(shown, "\u001b")
    const json = JSON.parse((await succeed("mr", "show", id, "--json")).stdout)
    assert.deepStrictEqual(Object.keys(json), ["merge_request", "care", "checks", "reviews", "threads"])
    assert.lengthOf(json.checks, 2)
    assert.include((await succeed("mr", "ls")).stdout, "checks failing, changes requested, open threads")
    assert.include((await succeed("mr", "list", "--state", "merged")).stderr, "There is no such merge request.")
    assert.include(await refuse("mr", "list", "--project", "nope"), 'There is no project "nope".')
    const listed = await succeed("mr", "list", "--state", "all", "--session", json.merge_request.session_id, "--json")
    assert.strictEqual(JSON.parse(listed.stdout).id, id)

    const watching = begin(at, ["merge-requests", "watch", id])
    await seen(watching.output, "a reviewer who asks for changes")
    test.state = "passed"
    thread.resolved = true
    origin.forge.review({ author: "bob", state: "approved" })
    await succeed("mr", "look", id)
    await seen(watching.output, "Nothing is in the way of a merge.")

    assert.include(await refuse("mr", "merge", id), "Say that you mean it with --yes.")
    const other = "0".repeat(40)
    assert.include(await refuse("mr", "merge", id, "--head", other, "--yes"), "The branch has moved on the remote.")
    assert.include((await succeed("mr", "merge", id, "--yes")).stderr, "Merged into main.")
    const { status, stdout } = await watching.finished
    assert.strictEqual(status, 0)
    assert.match(stdout, /It is merged\.\n$/)
    assert.include(await refuse("mr", "merge", id, "--yes"), "Nothing was merged. It is merged.")
  })

  variants(() => {
    it("a forge that declines the merge is quoted; one that is closed elsewhere ends the watch with 4, and JSON has its events and what became of it", async () => {
      await connect()
      const { id } = await opened("b.md")
      const pull = origin.forge.pulls.at(-1) ?? assert.fail("no pull request")
      pull.draft = true
      assert.match(await refuse("mr", "merge", id, "--yes"), /^reins: It was not merged: /m)
      pull.draft = false
      const look = () => world().client.mergeRequests.look({ merge_request_id: id })
      const watching = beginWithin(world().at, ["mr", "watch", id, "--json"])
      const head = origin.headOf(pull.head) ?? ""
      // The watch has begun when it tells of something that happened after it was started.
      await seen(watching.output, "merge_request.checks_changed", async () => {
        origin.forge.check({ head, name: `more-${origin.forge.checks.length}`, state: "passed" })
        await look()
      })
      pull.state = "closed"
      await look()
      const { status, stdout } = await watching.finished
      assert.strictEqual(status, 4)
      const lines = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.strictEqual(lines.at(-2).type, "merge_request.closed")
      assert.strictEqual(lines.at(-1).state, "closed")
    })
  })
})
