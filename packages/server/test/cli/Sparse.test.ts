import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Manifests } from "@reins/machine/harness/Manifests"
import { testExecutor } from "@reins/testing/executor/TestExecutor"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { git, reinsAt, worldForFile } from "./Cli.js"

// The sandbox shows no program of this repository, so the real agent works there.
const world = worldForFile({
  executors: [testExecutor],
  ...(testExecutor === "bubblewrap" && { manifests: Manifests.layer })
})
const model = ["--model", "scripted-1"]
const folders = ["apps/web", "packages/ui"]

const files = ["README.md", "apps/web/a.txt", "apps/api/b.txt", "packages/ui/c.txt", "docs/guide.md"]

const look =
  "ls -R . > /tmp/seen.$$; said=$(git status --porcelain); echo [$said] > apps/web/status.txt; git sparse-checkout list > apps/web/cone.txt; " +
  "mv /tmp/seen.$$ apps/web/seen.txt; rm packages/ui/c.txt; mkdir -p docs; echo new > docs/new.md"

it(`run --sparse: the agent has the folders alone, and the branch has the whole tree (${testExecutor})`, async () => {
  const { at, client, project } = world()
  for (const path of files) {
    mkdirSync(join(project.folder, dirname(path)), { recursive: true })
    writeFileSync(join(project.folder, path), `${path}\n`)
  }
  git(project.folder, "add", "--all")
  git(project.folder, "commit", "--quiet", "-m", "Files")
  git(project.folder, "push", "--quiet", "origin", "main")
  const message = script("Look around.", { tool: "bash", cmd: look }, { say: "Seen." })
  const args = [
    "run",
    message,
    ...model,
    "--sparse",
    "apps/web,packages/ui/",
    "--approve",
    "--json",
    "--deliver",
    "--branch",
    "part"
  ]
  const { status, stderr, stdout } = await reinsAt(at, args)
  assert.strictEqual(status, 0, stderr + stdout)
  const { session_id, changeset } = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")
  const session = await client.sessions.get({ session_id })
  assert.deepStrictEqual(session.base.sparse, folders)
  assert.deepStrictEqual(changeset.diagnostics, [])
  assert.deepStrictEqual(git(project.remote, "diff", "--name-status", "main", "part").split("\n"), [
    "A\tapps/web/cone.txt",
    "A\tapps/web/seen.txt",
    "A\tapps/web/status.txt",
    "A\tdocs/new.md",
    "D\tpackages/ui/c.txt"
  ])
  const seen = git(project.remote, "show", "part:apps/web/seen.txt")
  assert.include(seen, "a.txt")
  assert.include(seen, "README.md")
  assert.notMatch(seen, /b\.txt|guide\.md/)
  assert.strictEqual(git(project.remote, "show", "part:apps/web/status.txt"), "[]")
  assert.strictEqual(git(project.remote, "show", "part:apps/web/cone.txt"), folders.join("\n"))

  const { delegation } = await client.sessions.delegate({
    session_id,
    role: "helper",
    instructions: script("Go on.", { tool: "bash", cmd: "ls > apps/web/child.txt" }, { say: "Done." }),
    changeset_id: changeset.id
  })
  const child = await client.sessions.get({ session_id: delegation.child_session_id })
  assert.deepStrictEqual(child.base.sparse, folders)
})

it("a folder that is none is refused with the rule", async () => {
  const { at } = world()
  const { status, stderr } = await reinsAt(at, ["run", "x", ...model, "--sparse", "../apps"])
  assert.strictEqual(status, 1)
  assert.include(stderr, "from the root of the repository")
})
