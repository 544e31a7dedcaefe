import { spawn } from "node:child_process"
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { published } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, beforeAll, describe, it } from "vitest"
import { git, reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()
const examples = join(dirname(fileURLToPath(import.meta.url)), "../../../../examples/ci")
const model = ["--model", "scripted-1"]

const greeting = script(
  "-n Add `$(touch pwned)`; a greeting.",
  { say: "I write it.", tool: "write", path: "hello`.txt", content: "hi\n" },
  { say: "There it is." }
)

const plain = script("Say it.", { say: "Said." })

/** The path of a file of the world. */
const path = (name: string): string => join(world().directory, name)

beforeAll(() => {
  writeFileSync(path("reins"), `#!/bin/sh\nexec "${process.execPath}" "${published}" "$@"\n`)
  chmodSync(path("reins"), 0o755)
})

/** Runs the script as a job of continuous integration does. */
const job = (env: Readonly<Record<string, string>>) =>
  new Promise<{ readonly status: number | null; readonly stderr: string }>((resolve) => {
    const { at, directory } = world()
    const child = spawn(join(examples, "reins.sh"), {
      cwd: at.cwd,
      env: { ...at.env, PATH: `${directory}:${process.env["PATH"]}`, CI: "true", ...env },
      stdio: ["ignore", "ignore", "pipe"]
    })
    let stderr = ""
    child.stderr.on("data", (chunk) => {
      stderr += String(chunk)
    })
    child.once("close", (status) => resolve({ status, stderr }))
  })

describe("examples/ci", () => {
  it("delivers a branch, writes the answer and adds a report, whatever the task says", async () => {
    writeFileSync(path("summary.md"), "Before.\n")
    const { status, stderr } = await job({
      TASK: greeting,
      MODEL: "scripted-1",
      BRANCH: "from-ci",
      OUTPUT: path("answer.md"),
      SUMMARY: path("summary.md")
    })
    assert.strictEqual(status, 0, stderr)
    assert.match(readFileSync(path("answer.md"), "utf8"), /There it is\.\n$/)
    const summary = readFileSync(path("summary.md"), "utf8")
    assert.match(
      summary,
      /^Before\.\n### Reins: done\n\n1 file changed, \+1 -0\n\n- `` hello`\.txt ``\n\nBranch `from-ci`: succeeded\n/
    )
    assert.match(summary, /\[The session\]\(http:.*\/ui\/sessions\/sess_\w+\)\n$/)
    assert.strictEqual(git(world().project.remote, "show", "from-ci:hello`.txt"), "hi")
    assert.strictEqual(git(world().project.remote, "ls-tree", "--name-only", "from-ci"), "hello`.txt")
  })

  it("ends with the code of a run that failed, and of one that has no task", async () => {
    assert.strictEqual((await job({ TASK: "" })).status, 2)
    const files = { OUTPUT: path("failed.md"), SUMMARY: path("failed-summary.md") }
    assert.strictEqual((await job({ TASK: greeting, MODEL: "scripted-1", PROJECT: "none", ...files })).status, 1)
  })

  it("never puts the words of strangers into a command", () => {
    for (const name of ["github-actions.yml", "gitlab-ci.yml"]) {
      const text = readFileSync(join(examples, name), "utf8")
      const commands = text.split("\n").filter((line) => /^\s*(?:- )?(?:run:|- \.\/|- npm)/.test(line))
      assert.isNotEmpty(commands)
      for (const command of commands) assert.notMatch(command, /\$\{\{|\$TASK/, name)
      assert.include(text, "./examples/ci/reins.sh")
    }
  })
})

describe("reins run for programs", () => {
  it("leaves the turn to itself with --detach, and prints the session alone", async () => {
    const { at, client } = world()
    const { status, stdout } = await reinsAt(at, ["run", plain, ...model, "--detach"])
    assert.strictEqual(status, 0)
    const session_id = /^(sess_\w+)\n$/.exec(stdout)?.[1] ?? assert.fail(stdout)
    const [turn] = (await client.turns.list({ session_id })).items
    assert.strictEqual((await client.turns.wait(turn ?? assert.fail("no turn"))).state, "succeeded")
    const json = await reinsAt(at, ["run", plain, ...model, "--detach", "--json"])
    assert.hasAllKeys(JSON.parse(json.stdout), ["type", "session_id", "turn_id"])
    const refused = await reinsAt(at, ["run", plain, "--detach", "--deliver", "--summary", "x"])
    assert.strictEqual(refused.status, 1)
    assert.include(refused.stderr, "--detach does not go with --deliver, --summary.")
  })

  it("starts from a project by its slug", async () => {
    const { at, client, project, workspaceId: workspace_id } = world()
    const made = await client.projects.create({ workspace_id, slug: "shop", name: "Shop" })
    await client.projects.publish({ project_id: made.id, spec: { repository: { url: project.remote } } })
    const { status, stderr } = await reinsAt(at, ["run", plain, ...model, "--project", "shop"])
    assert.strictEqual(status, 0, stderr)
    const session_id = /^Session (sess_\w+)$/m.exec(stderr)?.[1] ?? ""
    assert.strictEqual((await client.sessions.get({ session_id })).project_id, made.id)
    const words = async (...args: ReadonlyArray<string>) => (await reinsAt(at, ["run", "Go.", ...args])).stderr
    assert.include(await words("--project", "none"), 'There is no project "none".')
    assert.include(await words("--project", "shop", "--ref", "main"), "Leave out --repo, --ref and --sparse.")
    assert.include(await words("--project", "shop", "--session", session_id), "Leave out --project or --session.")
    const unwritable = await words(...model, "--output", "/nowhere/answer.md")
    assert.include(unwritable, "/nowhere/answer.md could not be written: ENOENT")
  })
})
