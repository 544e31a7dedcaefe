import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()

const run = (...args: ReadonlyArray<string>) => reinsAt(world().at, ["automations", ...args])

const succeed = async (...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = await run(...args)
  assert.strictEqual(status, 0, stderr)
  return { stderr, stdout }
}

const refuse = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { status, stderr } = await run(...args)
  assert.strictEqual(status, 1, stderr)
  return stderr
}

describe("reins automations", () => {
  it("shows the next times of a schedule without a server, and marks a day on which the clock changes", async () => {
    const { stdout } = await succeed("preview", "30 2 29 3 *", "--timezone", "Europe/Berlin", "--count", "1", "--json")
    assert.match(JSON.parse(stdout).local, /^\d{4}-03-29T0[23]:[03]0\+0[12]:00$/)
    assert.match((await succeed("preview", "0 9 * * mon-fri", "--timezone", "UTC")).stdout, /^UTC +UTC +NOTE\n/)
    assert.include(await refuse("preview", "0 9 * *"), "has 4 fields")
    assert.include(await refuse("preview", "0 0 31 2 *"), "never comes")
    assert.include(await refuse("preview", "0 0 30 2 */2", "--json"), "never comes")
  })

  it("makes an automation, runs it by hand, pauses, resumes and removes it", async () => {
    assert.include((await succeed("ls")).stderr, "There is no automation yet.")
    const when = ["--cron", "0 3 1 1 *", "--timezone", "UTC", "--name", "Yearly"]
    const agent = ["--provider", "alpha", "--model", "scripted-1"]
    const { stderr, stdout } = await succeed("add", "Look around.", ...when, ...agent)
    const id = stdout.trim()
    assert.match(id, /^aut_\w+$/)
    assert.match(stderr, /It begins at \d{4}-01-01 03:0\d UTC\./)
    assert.match((await succeed("ls")).stdout, new RegExp(`^${id} +active +.* 0 3 1 1 \\* UTC +Yearly$`, "m"))
    assert.strictEqual(JSON.parse((await succeed("show", id)).stdout).name, "Yearly")
    assert.include((await succeed("pause", id)).stderr, "It starts nothing until it is resumed.")
    assert.match((await succeed("ls", "--state", "paused")).stdout, new RegExp(`^${id} +paused \\(by hand\\)`, "m"))
    const begun = (await succeed("run", id)).stdout.trim()
    assert.match(begun, /^sess_\w+$/)
    assert.match((await succeed("runs", id)).stdout, new RegExp(`^run_\\w+ .* ${begun}`, "m"))
    assert.include((await succeed("resume", id)).stderr, "It goes on, and acts for you.")
    assert.include((await succeed("remove", id)).stderr, `Yearly (${id}) starts nothing any more.`)
    assert.include((await succeed("ls")).stderr, "There is no automation yet.")
  })

  it("changes what is named, leaves the rest, and says what changed", async () => {
    const { client, workspaceId } = world()
    const when = ["--cron", "0 3 1 1 *", "--timezone", "Europe/Berlin", "--name", "Yearly"]
    const added = await succeed("add", "Look around.", ...when, "--provider", "alpha", "--model", "scripted-1")
    const id = added.stdout.trim()
    const get = () => client.automations.get({ automation_id: id })
    const { stdout } = await succeed("edit", id, "--name", "Daily", "--cron", "0 4 * * *", "--message", "Look again.")
    assert.match(stdout, /^name +Yearly +Daily$/m)
    assert.match(stdout, /^trigger\.expression +0 3 1 1 \* +0 4 \* \* \*$/m)
    assert.match(stdout, /^target\.message +Look around\. +Look again\.$/m)
    assert.notMatch(stdout, /timezone|model|overlap/)
    assert.deepInclude(await get(), {
      trigger: { kind: "schedule", expression: "0 4 * * *", timezone: "Europe/Berlin" },
      target: { kind: "new_session", message: "Look again.", harness: { provider_id: "alpha", model: "scripted-1" } }
    })
    await succeed("edit", id, "--overlap", "wait", "--max-minutes", "none", "--pause-after", "5", "--budget", "2k")
    await succeed(
      "edit",
      id,
      "--missed",
      "skip",
      "--start-within",
      "600",
      "--total-budget",
      "$9",
      "--max-parallel",
      "3"
    )
    await succeed("edit", id, "--jitter", "0", "--title", "T", "--label", "a=b=c", "--timezone", "UTC")
    const edited = await get()
    assert.deepInclude(edited, { overlap: "wait", max_minutes: null, pause_after_failures: 5, missed: "skip" })
    assert.deepInclude(edited, { start_within_seconds: 600, max_parallel: 3 })
    assert.deepStrictEqual(edited.budget, { run: { max_tokens: 2000 }, total: { max_cost_usd: 9 } })
    assert.deepInclude(edited.target, { title: "T", labels: { a: "b=c" }, message: "Look again." })
    assert.include((await succeed("edit", id, "--name", "Daily")).stderr, "It was so already.")
    await succeed("edit", id, "--budget", "none", "--total-budget", "none", "--at", "2099-01-01T00:00:00Z")
    assert.deepInclude(await get(), { budget: null, trigger: { kind: "once", at: "2099-01-01T00:00:00.000Z" } })
    const hook = await client.hooks.create({ workspace_id: workspaceId, kind: "github", label: "forge" })
    const filter = [{ pointer: "/issue/labels/*/name", is: "reins" }]
    await succeed(
      "edit",
      id,
      "--hook",
      hook.id,
      "--events",
      "issues",
      "--filter",
      JSON.stringify(filter),
      "--pick",
      "/a,/b"
    )
    assert.deepInclude((await get()).trigger, { hook_id: hook.id, events: ["issues"], filter, pick: ["/a", "/b"] })
    await succeed("edit", id, "--events", "all", "--pick", "none")
    assert.deepStrictEqual((await get()).trigger, { kind: "hook", hook_id: hook.id, filter, pick: [] })
    await succeed("edit", id, "--on", "turn.failed", "--of-label", "a=b")
    assert.deepStrictEqual((await get()).trigger, { kind: "event", types: ["turn.failed"], label: "a=b" })
    for (const [words, why] of [
      [[], "Say what to change."],
      [["--cron", "0 4 * * *", "--at", "2099-01-01T00:00:00Z"], "An automation has one trigger"],
      [["--timezone", "UTC"], "--timezone is no part of a trigger of the kind event."],
      [["--filter", "{"], "--filter has to be JSON."],
      [["--max-minutes", "soon"], "--max-minutes has to be a number, or none."],
      [["--session", "sess_1", "--model", "x"], "Leave these options out."],
      [["--cron", "0 0 30 2 *"], "never comes"],
      [["--deliver", "branch", "--cron", "0 4 * * *"], "have no repository"]
    ] as const)
      assert.include(await refuse("edit", id, ...words), why)
    await succeed("remove", id)
  })

  it("tries a filter on a sample, and says what does not hold", async () => {
    const { at, client, workspaceId } = world()
    const hook = await client.hooks.create({ workspace_id: workspaceId, kind: "github", label: "forge" })
    const { id } = await client.automations.create({
      workspace_id: workspaceId,
      name: "Issues",
      trigger: {
        kind: "hook",
        hook_id: hook.id,
        events: ["issues"],
        filter: [{ pointer: "/label/name", is: "reins" }],
        pick: ["/issue/title"]
      },
      target: { kind: "new_session", message: "Mend it." }
    })
    const sample = join(at.cwd, "issue.json")
    writeFileSync(sample, JSON.stringify({ label: { name: "reins" }, issue: { title: "The total is wrong" } }))
    const good = await succeed("try", id, "--sample", sample, "--event", "issues")
    assert.include(good.stderr, "It would begin a run.")
    assert.match(good.stdout, /^\/label\/name +yes +"reins"$/m)
    assert.include(good.stdout, '"/issue/title": "The total is wrong"')
    writeFileSync(sample, "{}")
    const bad = await succeed("try", id, "--sample", sample, "--event", "push")
    assert.include(bad.stderr, "It would begin nothing.")
    assert.match(bad.stdout, /^event push +no[\s\S]*^\/label\/name +no +nothing$/m)
    assert.include(await refuse("try", id), "Name a delivery with --receipt")
    assert.include(await refuse("try", id, "--sample", join(at.cwd, "none.json")), "cannot be read.")
    await succeed("remove", id)
  })

  it("says what is missing or does not fit before it asks a server", async () => {
    assert.include(await refuse("add", "Go.", "--name", "x"), "Say when: --cron")
    assert.include(await refuse("add", "Go.", "--name", "x", "--at", "soon"), '"soon" is no time.')
    const at = ["--name", "x", "--at", "2099-01-01T00:00:00Z"]
    assert.include(await refuse("add", "Go.", ...at, "--model", "gpt-5"), "--provider")
    assert.include(
      await refuse("add", "Go.", ...at, "--session", "sess_1", "--project", "prj_1"),
      "Leave these options out."
    )
  })
})
