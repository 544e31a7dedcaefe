import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Reins } from "@reins/client"
import { beginTurn, endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { variants } from "@reins/testing/Variants"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { begin, beginWithin, git, reinsAt, terminal, worldForFile } from "./Cli.js"

const world = worldForFile()

/** A session on the project that has no turn yet. */
const newSession = async (settings: { readonly auto_capture?: boolean } = {}): Promise<string> => {
  const { client, project, workspaceId } = world()
  const { id } = await client.sessions.create({
    workspace_id: workspaceId,
    title: "A greeting",
    repository: { url: project.remote },
    harness: { provider_id: "alpha", model: "scripted-1" },
    ...settings
  })
  return id
}

const content = script("Add it.", { tool: "write", path: "hello.txt", content: "hi\n" }, { say: "There it is." })

let greeting: Promise<string> | undefined
/** The session of all tests of this file in which a greeting was written. */
const greeted = (): Promise<string> => {
  greeting ??= newSession().then(async (session_id) => {
    await world().client.run({ session_id, content }).final()
    return session_id
  })
  return greeting
}

describe("reins sessions ls", () => {
  it("lists the newest first, as a table and as JSON", async () => {
    const { at } = world()
    const older = await newSession()
    const newer = await newSession()
    const { stdout, status } = await reinsAt(at, ["sessions", "ls", "--limit", "2"])
    assert.strictEqual(status, 0)
    assert.match(
      stdout,
      new RegExp(
        `^SESSION +STATE +UPDATED +MODEL +TITLE\\n${newer} +idle +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d +scripted-1 +A greeting\\n${older} .*\\n$`
      )
    )
    const json = await reinsAt(at, ["sessions", "ls", "--limit", "1", "--json"])
    assert.strictEqual(JSON.parse(json.stdout).id, newer)
  })

  it("says what it cannot do", async () => {
    const { at } = world()
    for (const [args, words] of [
      [["--limit", "0"], /^reins: --limit has to be a number from 1 to 100\.\n$/],
      [["--workspace", "nope"], /^reins: There is no workspace "nope"\. .+\n$/]
    ] as const) {
      const { status, stderr } = await reinsAt(at, ["sessions", "ls", ...args])
      assert.strictEqual(status, 1)
      assert.match(stderr, words)
    }
  })
})

describe("reins sessions watch", () => {
  it("follows the running turn from its beginning to its end, and ends as it does", async () => {
    const { at, client, directory } = world()
    const id = await newSession()
    const gate = join(directory, "gate")
    const slow = script(
      "Wait.",
      { say: "I wait.", tool: "bash", cmd: `until [ -e ${gate} ]; do sleep 0.05; done` },
      { error: 401 }
    )
    await beginTurn(client, id, slow, "tool.started")
    const watching = beginWithin(at, ["sessions", "watch", id])
    await eventually("the words of before", () => watching.output().includes("I wait."))
    writeFileSync(gate, "")
    const { status, stderr, stdout } = await watching.finished
    assert.strictEqual(status, 2, stderr)
    assert.match(stdout, /^I wait\.\n✓ bash: .+\n$/)
    assert.match(stderr, /^The turn failed: .+\n$/)
  })

  it("Ctrl-C leaves the turn running", async () => {
    const { at, client } = world()
    const id = await newSession()
    const { turn_id } = await beginTurn(client, id, endlessTool(), "tool.started")
    const watching = begin(at, ["sessions", "watch", id, "--json"])
    await eventually("its events", () => watching.output().includes('"tool.started"'))
    process.kill(watching.pid, "SIGINT")
    const { status, stdout } = await watching.finished
    assert.strictEqual(status, 5)
    assert.strictEqual(JSON.parse(stdout.split("\n")[0] ?? "").type, "turn.queued")
    assert.strictEqual((await client.turns.get({ turn_id })).state, "running")
    await client.turns.cancel({ turn_id })
    await client.turns.wait({ turn_id })
  })

  it("says when nothing runs, and when there is no such session", async () => {
    const { at } = world()
    const idle = await reinsAt(at, ["sessions", "watch", await newSession()])
    assert.deepStrictEqual([idle.status, idle.stderr], [0, "Nothing runs in this session now.\n"])
    const absent = await reinsAt(at, ["sessions", "watch", "sess_nope"])
    assert.strictEqual(absent.status, 1)
    assert.match(absent.stderr, /^reins: .+\n$/)
  })
})

describe("reins sessions diff", () => {
  it("prints what git applies", async () => {
    const { at, project } = world()
    const id = await greeted()
    const { stdout } = await reinsAt(at, ["sessions", "diff", id])
    execFileSync("git", ["-C", project.folder, "apply", "--check"], { input: stdout })
  })

  variants(() => {
    it("has colours on a terminal, as the diff of a run", async () => {
      const shown = terminal(world().at, ["sessions", "diff", await greeted()])
      await shown.finished
      assert.include(shown.raw(), "\u001b[32m+hi\u001b[39m")
    })
  })

  it("captures what was not captured yet, and says when there is nothing", async () => {
    const { at, client } = world()
    const id = await newSession({ auto_capture: false })
    await client.run({ session_id: id, content }).final()
    assert.include((await reinsAt(at, ["sessions", "diff", id])).stdout, "+hi\n")
    const empty = await newSession()
    await client.run({ session_id: empty, content: "Hello." }).final()
    const { status, stderr, stdout } = await reinsAt(at, ["sessions", "diff", empty])
    assert.deepStrictEqual([status, stdout, stderr], [0, "", "The session changed nothing.\n"])
    const refused = await reinsAt(at, ["sessions", "deliver", empty])
    assert.strictEqual(refused.status, 1)
    assert.match(refused.stderr, /^reins: The session changed nothing, .+\n$/)
  })
})

describe("reins sessions diff --since", () => {
  it("prints what has changed since the last changeset, or since one by its id", async () => {
    const { at, client } = world()
    const id = await newSession()
    await client.run({ session_id: id, content }).final()
    const again = script("Add more.", { tool: "write", path: "more.txt", content: "more\n" }, { say: "More." })
    await client.run({ session_id: id, content: again }).final()
    const sealed = await eventually("two changesets", async () => {
      const { items } = await client.sessions.listChangesets({ session_id: id, state: "ready" })
      return items.length === 2 ? items : undefined
    })
    const whole = (await reinsAt(at, ["sessions", "diff", id])).stdout
    assert.include(whole, "+hi\n")
    for (const since of ["last", sealed[1]?.id ?? ""]) {
      const { stdout } = await reinsAt(at, ["sessions", "diff", id, "--since", since])
      assert.include(stdout, "+more\n")
      assert.notInclude(stdout, "+hi\n")
    }
  })
})

describe("reins sessions export", () => {
  it("prints Markdown, and writes a file", async () => {
    const { at } = world()
    const id = await greeted()
    const { status, stdout } = await reinsAt(at, ["sessions", "export", id])
    assert.strictEqual(status, 0)
    assert.match(stdout, /^# A greeting\n[\s\S]*There it is\.[\s\S]*\+hi\n/)
    const file = join(at.cwd, "session.json")
    const saved = await reinsAt(at, ["sessions", "export", id, "--format", "json", "-o", file])
    assert.deepStrictEqual([saved.status, saved.stdout, saved.stderr], [0, "", `The session is in ${file}.\n`])
    assert.strictEqual(JSON.parse(readFileSync(file, "utf8")).session.id, id)
    const nowhere = await reinsAt(at, ["sessions", "export", id, "-o", join(at.cwd, "none", "a.md")])
    assert.strictEqual(nowhere.status, 1)
    assert.match(nowhere.stderr, /^reins: .+ cannot be written .+ Choose another file with --output\.\n$/)
    assert.strictEqual((await reinsAt(at, ["sessions", "export", "sess_nope"])).status, 1)
  })
})

describe("reins sessions share", () => {
  it("makes a link that is listed and taken back", async () => {
    const { at, client } = world()
    const id = await greeted()
    const made = await reinsAt(at, ["sessions", "share", id, "--expires", "7d", "--with", "tools"])
    assert.strictEqual(made.status, 0, made.stderr)
    const token = /\/ui\/shared#(rsh_[\w-]+)\n$/.exec(made.stdout)?.[1] ?? assert.fail(made.stdout)
    const share = /reins sessions unshare (shr_\w+)/.exec(made.stderr)?.[1] ?? assert.fail(made.stderr)
    const reader = new Reins({ baseUrl: client.baseUrl, apiKey: token })
    assert.deepInclude(await reader.shared.getSession(), { title: "A greeting", includes: ["changes", "tools"] })
    assert.match(
      (await reinsAt(at, ["sessions", "shares", id])).stdout,
      new RegExp(`${share} +active +conversation, changes, tools`)
    )
    assert.strictEqual((await reinsAt(at, ["sessions", "unshare", share])).status, 0)
    assert.match((await reinsAt(at, ["sessions", "shares", id])).stdout, new RegExp(`${share} +revoked`))
    const refused = await reader.shared.getSession().catch((error: unknown) => error)
    assert.deepInclude(refused, { status: 404, code: "not_found" })
    const wrong = await reinsAt(at, ["sessions", "share", id, "--expires", "soon"])
    assert.deepStrictEqual(
      [wrong.status, wrong.stderr],
      [1, 'reins: --expires takes a time as 12h, 7d or 2w, and "soon" is none.\n']
    )
  })
})

describe("reins sessions deliver", () => {
  it("pushes a branch of the name, and gives a patch", async () => {
    const { at, project } = world()
    const id = await greeted()
    const pushed = await reinsAt(at, ["sessions", "deliver", id, "--branch", "by/hand", "--title", "Say hi"])
    assert.strictEqual(pushed.status, 0, pushed.stderr)
    assert.strictEqual(pushed.stderr, `Delivered as the branch by/hand of ${project.remote}.\n`)
    assert.strictEqual(git(project.remote, "log", "-1", "--format=%s", "by/hand"), "Say hi")
    const patch = await reinsAt(at, ["sessions", "deliver", id, "--patch"])
    assert.match(patch.stdout, /^[\s\S]*diff --git a\/hello\.txt/)
    const json = await reinsAt(at, ["sessions", "deliver", id, "--json"])
    assert.deepInclude(JSON.parse(json.stdout), { state: "succeeded", session_id: id })
  })

  variants(() => {
    it("ends with 4 when the branch has gone elsewhere, as a run", async () => {
      const { at, project } = world()
      const id = await greeted()
      git(project.folder, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere")
      git(project.folder, "push", "--quiet", "origin", "HEAD:elsewhere")
      const { status, stderr } = await reinsAt(at, ["sessions", "deliver", id, "--branch", "elsewhere"])
      assert.strictEqual(status, 4, stderr)
      assert.match(stderr, /^The delivery is (?:blocked|failed): .+\n$/)
    })
  })

  /** A run on a branch of its own whose agent writes a file that Git LFS should keep. */
  const runWithLfs = async (ref: string) => {
    const { at, project } = world()
    const cwd = project.folder
    git(cwd, "checkout", "--quiet", "-b", ref)
    writeFileSync(join(cwd, ".gitattributes"), "*.bin filter=lfs\n")
    writeFileSync(join(cwd, "old.bin"), "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    git(cwd, "add", ".gitattributes", "old.bin")
    git(cwd, "commit", "--quiet", "-m", "Large files")
    git(cwd, "push", "--quiet", "origin", ref)
    git(cwd, "checkout", "--quiet", "main")
    const message = script("Draw.", { tool: "write", path: "new.bin", content: "pixels\n" }, { say: "Drawn." })
    const place = ["--repo", project.remote, "--ref", ref]
    const ran = await reinsAt(at, ["run", message, "--model", "scripted-1", ...place])
    assert.strictEqual(ran.status, 0, ran.stderr)
    return { ...ran, id: /^Session (sess_\w+)$/m.exec(ran.stderr)?.[1] ?? assert.fail("no session") }
  }

  it("refuses content that Git LFS should keep, asks a person, and takes --allow", async () => {
    const { apiKey, at, client, project, url } = world()
    const { id, stderr, stdout } = await runWithLfs("with-lfs")
    assert.include(stdout, "1 file of the repository is kept by Git LFS. The agent sees pointers, not contents.\n")
    assert.include(stderr, 'where Git LFS expects a pointer: "new.bin". A delivery as a branch is blocked')

    const alone = await reinsAt(at, ["sessions", "deliver", id])
    assert.strictEqual(alone.status, 4, alone.stderr)
    assert.match(alone.stderr, /^The delivery is blocked: .*"new\.bin".*To deliver anyway, allow lfs_content\.\n$/)
    const other = await reinsAt(at, ["sessions", "deliver", id, "--allow", "name_collision"])
    assert.strictEqual(other.status, 4, other.stderr)
    const [changeset] = (await client.sessions.listChangesets({ session_id: id })).items
    const odd = await fetch(`${url}/api/changesets/${changeset?.id}/deliveries`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ allow: ["everything"] })
    })
    assert.strictEqual(odd.status, 422, await odd.text())

    const yes = terminal(at, ["sessions", "deliver", id])
    await yes.until(/Deliver anyway\?/)
    yes.type("y")
    assert.strictEqual((await yes.finished).status, 0)
    const branch = git(project.remote, "branch", "--list", `reins/${id}/*`)
    assert.strictEqual(git(project.remote, "show", `${branch}:new.bin`), "pixels")
    const allowed = await reinsAt(at, ["sessions", "deliver", id, "--branch", "by/flag", "--allow", "lfs_content"])
    assert.strictEqual(allowed.status, 0, allowed.stderr)
  })

  variants(() => {
    it("leaves such content where the person says no", async () => {
      const { at, project } = world()
      const { id } = await runWithLfs("with-lfs-left")
      const asked = terminal(at, ["sessions", "deliver", id])
      await asked.until(/Deliver anyway\?/)
      asked.type("n")
      assert.strictEqual((await asked.finished).status, 4)
      assert.strictEqual(git(project.remote, "branch", "--list", `reins/${id}/*`), "")
    })
  })
})
