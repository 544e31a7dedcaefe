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
