import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { eventually } from "@reins/testing/process/Waiting"
import { variants } from "@reins/testing/Variants"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { type At, keys, reinsAt, terminal, worldForFile } from "./Cli.js"

const world = worldForFile({ manifests: askingAgents("supported") })

/** The place of a person, whose choices are kept apart from those of other tests. */
const personAt = (name: string): At => {
  const { at, directory } = world()
  return { ...at, env: { ...at.env, XDG_STATE_HOME: join(directory, "state", name) } }
}

const hello = script("Say hello.", { say: "Hello **there**." })
const again = script("Say more.", { say: "Here is more." })
const write = script("Write it.", { tool: "write", path: "asked.txt", content: "yes\n" }, { say: "Written." })

const sessions = async () => (await world().client.sessions.list({ workspace_id: world().workspaceId })).items

/** A conversation that has ended well. Gives its session. */
const left = async (shown: ReturnType<typeof terminal>): Promise<string> => {
  await shown.until(/›/)
  shown.type(keys.leave)
  const { status, text } = await shown.finished
  assert.strictEqual(status, 0, text)
  return [...text.matchAll(/Go on with it: reins chat --session (sess_\w+)/g)].at(-1)?.[1] ?? assert.fail(text)
}

describe("reins alone in a repository", () => {
  it("talks about it with the agent and the model of the last time; -c goes on, -r asks which, and one in which nothing was said goes", async () => {
    const at = personAt("alone")
    const { apiKey, project } = world()
    const first = terminal(at, ["chat", hello, "--agent", "opencode", "--model", "scripted-2"])
    await first.until(/Hello there\./)
    await first.until(/\/ui\/sessions\/sess_/)
    const older = await left(first)

    const file = join(at.env["XDG_STATE_HOME"] ?? "", "reins/choices.json")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    const kept = readFileSync(file, "utf8")
    assert.deepInclude(JSON.parse(kept).choices[0], {
      repository: project.remote,
      agent: "alpha",
      models: { alpha: "scripted-2" }
    })
    assert.notInclude(kept, apiKey)

    const second = terminal(at, [])
    await second.until(/OpenCode \(alpha\) with scripted-2, as chosen last for this repository\./)
    await second.until(/remote\.git · main · OpenCode \(alpha\), scripted-2/)
    await second.until(/›/)
    second.type(`${again}${keys.enter}`)
    await second.until(/(?<!")Here is more\./)
    await second.until(/\/ui\/sessions\/sess_/)
    const newer = await left(second)
    assert.notStrictEqual(newer, older)
    assert.match((await world().client.sessions.get({ session_id: newer })).title ?? "", /^Say more\./)

    const flagged = terminal(at, ["chat", "--model", "scripted-1"])
    await flagged.until(/main · OpenCode \(alpha\), scripted-1/)
    assert.notInclude(flagged.raw(), "with scripted-2")
    await flagged.until(/›/)
    flagged.type(keys.leave)
    const unused = await flagged.finished
    assert.strictEqual(unused.status, 0)
    // Nothing was said in it.
    assert.notInclude(unused.text, "Go on with it")
    const [, gone = ""] = /Session (sess_\w+)/.exec(unused.text) ?? []
    await eventually("it is taken away", async () => (await sessions()).every(({ id }) => id !== gone))
    assert.deepInclude(JSON.parse(readFileSync(file, "utf8")).choices[0].models, { alpha: "scripted-1" })

    const goingOn = terminal(at, ["-c"])
    await goingOn.until(new RegExp(`Session ${newer}: Say more`))
    assert.strictEqual(await left(goingOn), newer)

    const choosing = terminal(at, ["-r"])
    await choosing.until(/Which session\?/)
    await choosing.until(new RegExp(older.slice(-4)))
    choosing.type(`${keys.down}${keys.enter}`)
    await choosing.until(new RegExp(`Session ${older}`))
    assert.strictEqual(await left(choosing), older)
  })

  variants(() => {
    it("shows its help elsewhere: without a terminal, a repository, a server or a key", async () => {
      const at = personAt("elsewhere")
      const isHelp = /^Usage: reins <command>/
      assert.match((await reinsAt(at, [])).stdout, isHelp)
      for (const where of [
        { ...at, cwd: world().directory },
        { ...at, env: { ...at.env, REINS_URL: "" } },
        { ...at, env: { ...at.env, REINS_API_KEY: "" } }
      ]) {
        const { status, text } = await terminal(where, []).finished
        assert.strictEqual(status, 0)
        assert.match(text, isHelp)
      }
      assert.match((await reinsAt(at, ["-c"])).stderr, /^reins: reins chat needs a terminal\./)
      const { text } = await terminal({ ...at, cwd: world().directory }, ["-c"]).finished
      assert.match(text, /is not in a git repository/)
    })
  })
})

describe("in a conversation", () => {
  it("/approve, /model and /new do what /help says, and a turn that changes nothing shows no diff again", async () => {
    const at = personAt("commands")
    const shown = terminal(at, ["chat", "--model", "scripted-1"])
    await shown.until(/›/)
    shown.type(`/help${keys.enter}`)
    for (const command of ["/model", "/approve", "/new", "@path"]) await shown.until(new RegExp(command))
    shown.type(`/approve${keys.enter}`)
    await shown.until(/Every tool that the agent asks for is allowed from now on/)
    shown.type(`${write}${keys.enter}`)
    await shown.until(/(?<!")Written\./)
    await shown.until(/\+yes/)
    await shown.until(/\/ui\/sessions\/sess_/)
    shown.type(`/model scripted-2${keys.enter}`)
    await shown.until(/The agent goes on with scripted-2\./)
    shown.type(`${again}${keys.enter}`)
    await shown.until(/(?<!")Here is more\./)
    await shown.until(/\/ui\/sessions\/(sess_\w+)/)
    const raw = shown.raw()
    assert.include(raw, "+yes")
    assert.notInclude(raw.slice(raw.lastIndexOf("Here is more.")), "+yes")
    shown.type(`/new${keys.enter}`)
    await shown.until(/Go on with it: reins chat --session (sess_\w+)/)
    await shown.until(/›/)
    shown.type(`${again}${keys.enter}`)
    await shown.until(/(?<!")Here is more\./)
    await shown.until(/\/ui\/sessions\/(sess_\w+)/)
    const newer = await left(shown)
    const [, older = ""] = /Go on with it: reins chat --session (sess_\w+)/.exec(shown.raw()) ?? []
    assert.notStrictEqual(older, newer)
    assert.strictEqual((await world().client.sessions.get({ session_id: older })).harness.model, "scripted-2")
    const kept = JSON.parse(readFileSync(join(at.env["XDG_STATE_HOME"] ?? "", "reins/choices.json"), "utf8"))
    assert.deepStrictEqual(kept.choices[0].models, { alpha: "scripted-2" })
  })

  it("attaches a file behind an @, which Tab completes, and a picture by its path", async () => {
    const { client, directory, project } = world()
    const at = personAt("files")
    mkdirSync(join(project.folder, "docs"), { recursive: true })
    writeFileSync(join(project.folder, "docs/plan.txt"), "first this\n")
    const picture = join(directory, "a shot.png")
    writeFileSync(picture, "pixels")
    const shown = terminal(at, ["chat", "--model", "scripted-1"])
    await shown.until(/›/)
    shown.type("See @do\t")
    await shown.until(/@docs\//)
    shown.type("pl\t")
    await shown.until(/plan\.txt/)
    shown.type(` and '${picture}', not @nobody. ${again}${keys.enter}`)
    await shown.until(/Attaching docs-plan\.txt \(11 B\), a shot\.png \(6 B\)/)
    await shown.until(/(?<!")Here is more\./)
    await shown.until(/\/ui\/sessions\/(sess_\w+)/)
    const session_id = await left(shown)
    rmSync(join(project.folder, "docs"), { recursive: true })
    const { items } = await client.messages.list({ session_id })
    const files = items.flatMap(({ content }) => content.flatMap((block) => (block.type === "file" ? [block] : [])))
    assert.deepStrictEqual(
      files.map(({ path, place, size }) => [path, place, size]),
      [
        ["docs-plan.txt", "attachment", 11],
        ["a shot.png", "attachment", 6]
      ]
    )
  })
})

/** The present step, which is drawn and taken away between what stays. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is how a terminal is told to draw over a line
const progress = /\u001b\[1G(?:\u001b\[0K)?\u001b\[36m.\u001b\[39m [^\u001b]*/g

describe("an answer in Markdown", () => {
  const answer =
    "## Done\n\nIt was `sum`, see [docs](https://e.com).\n\n- [x] **mended**\n\n| a | b |\n| - | -: |\n| 漢 | 1 |\n"
  const said = script("Tell.", { say: answer })

  it("has the styles of a terminal, and stays as it is in a pipe", async () => {
    const at = personAt("markdown")
    const shown = terminal(at, ["run", said, "--model", "scripted-1"])
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0, text)
    const lines = stripVTControlCharacters(shown.raw().replaceAll(progress, "")).replaceAll("\r", "")
    assert.include(lines, "\nDone\n\nIt was sum, see docs (https://e.com).\n\n[x] mended\n\na   b\n──  ─\n漢  1\n")
    assert.include(shown.raw(), "\u001b[1mDone\u001b[22m")
    const piped = await reinsAt(at, ["run", said, "--model", "scripted-1"])
    assert.strictEqual(piped.stdout, answer)
  })

  it("stands above a diff, which goes through the pager that git would take", async () => {
    const at = personAt("pager")
    const pager = { ...at, env: { ...at.env, GIT_PAGER: "sed s/^/paged:/" } }
    const ran = terminal(pager, ["run", write, "--approve", "--model", "scripted-1"])
    await ran.until(/paged:.*\+yes/)
    await ran.until(/Deliver this as a branch/)
    ran.type("n")
    assert.strictEqual((await ran.finished).status, 0)
    assert.notInclude((await reinsAt(pager, ["sessions", "diff", "last"])).stdout, "paged:")
  })

  variants(() => {
    it("stays as it is without colours, and a diff is written where there is no pager", async () => {
      const at = personAt("plain")
      const colourless = await terminal({ ...at, env: { ...at.env, NO_COLOR: "1" } }, [
        "run",
        said,
        "--model",
        "scripted-1"
      ]).finished
      assert.include(colourless.text.replaceAll("\r", ""), answer)
      assert.strictEqual((await reinsAt(at, ["run", write, "--approve", "--model", "scripted-1"])).status, 0)
      const missing = terminal({ ...at, env: { ...at.env, GIT_PAGER: "no-such-pager" } }, ["sessions", "diff", "last"])
      assert.match((await missing.finished).text, /\+yes/)
    })
  })
})
