import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, describe, it } from "vitest"
import { type At, reinsAt, reinsProcess, worldForFile } from "./Cli.js"

const world = worldForFile()

const newSession = async (title: string): Promise<string> =>
  (await world().client.sessions.create({ workspace_id: world().workspaceId, title, prewarm: false })).id

const titleOf = async (session_id: string) => (await world().client.sessions.get({ session_id })).title

/** The commands that take a session, each with what it takes besides, and whether it needs the work of a turn. */
const taking: ReadonlyArray<readonly [before: ReadonlyArray<string>, after: ReadonlyArray<string>]> = [
  [["sessions", "show"], ["--json"]],
  [["sessions", "watch"], []],
  [["sessions", "rename"], ["Renamed"]],
  [
    ["sessions", "export"],
    ["--format", "json"]
  ],
  [["sessions", "share"], []],
  [["sessions", "shares"], []],
  [["sessions", "archive"], []],
  [["sessions", "unarchive"], []],
  [
    ["sessions", "set"],
    ["--repo", "http://127.0.0.1:9/moved.git"]
  ],
  [["artifacts", "list"], []],
  [["delegations", "list"], []],
  [["requests"], []],
  [["usage"], []],
  [["budget"], ["100k"]],
  [["open"], ["--print"]],
  [["merge-requests", "list", "--session"], []],
  [["automations", "add", "Go.", "--name", "Later", "--at", "2099-01-01T00:00:00Z", "--session"], []],
  [["sessions", "close"], ["--yes"]],
  [["sessions", "delete"], ["--yes"]]
]

describe("a session is named", () => {
  it("by the end of its id, the beginning of its title, or `last`, in every command that takes one", async () => {
    const { at } = world()
    const id = await newSession("Use minor units")
    for (const [before, after] of taking) {
      const absent = await reinsAt(at, [...before, "zzzz9", ...after])
      assert.strictEqual(absent.status, 1, before.join(" "))
      assert.match(absent.stderr, /^reins: There is no session "zzzz9" among the newest 2,000, .+\n$/, before.join(" "))
      const { status, stderr } = await reinsAt(at, [...before, id.slice(-6), ...after])
      // Some commands refuse a session as this one is, and none for its name.
      assert.notMatch(stderr, /There is no session/, before.join(" "))
      if (status !== 0) assert.match(stderr, /repository|conflict|changed/i, `${before.join(" ")}: ${stderr}`)
    }
    const other = await newSession("Mend the login")
    for (const name of ["mend THE", "last", other.slice(-4), other.slice(5), other]) {
      const { stderr, stdout } = await reinsAt(at, ["sessions", "show", name, "--json"])
      assert.strictEqual(JSON.parse(stdout || "{}").id, other, `${name}: ${stderr}`)
    }
  })

  it("is none that is meant where several are, which are listed, and nothing is done", async () => {
    const { at } = world()
    const ids = [await newSession("Twice 漢字"), await newSession("Twice over"), await newSession("Once\u202e")]
    const { status, stderr, stdout } = await reinsAt(at, ["sessions", "rename", "twice", "Renamed"])
    assert.deepStrictEqual([status, stdout], [1, ""])
    assert.match(stderr, /^reins: "twice" can be 2 sessions\. Name one by the end of its id:\n/)
    for (const [index, title] of ["Twice 漢字", "Twice over"].entries())
      assert.include(stderr, `${title}\n`, `${index}`)
    for (const id of ids.slice(0, 2)) assert.include(stderr, id.slice(-4))
    assert.deepStrictEqual(await Promise.all(ids.slice(0, 2).map(titleOf)), ["Twice 漢字", "Twice over"])
    const run = await reinsAt(at, ["run", "Go.", "--session", "twice"])
    assert.deepStrictEqual([run.status, run.stdout], [1, ""])
    assert.match(run.stderr, /can be 2 sessions/)
  })

  it("by its whole id, which costs no request more", async () => {
    const { at, url } = world()
    const id = await newSession("Counted")
    const asked: Array<string> = []
    const proxy = createServer((incoming, answered) => {
      asked.push(`${incoming.method} ${incoming.url}`)
      const { headers, method = "GET" } = incoming
      const forwarded = request(`${url}${incoming.url}`, { headers, method }, (answer) => {
        answered.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(answered)
      })
      incoming.pipe(forwarded)
    })
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
    const address = proxy.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const through: At = { ...at, env: { ...at.env, REINS_URL: `http://127.0.0.1:${port}` } }
    const { status, stderr } = await reinsAt(through, ["sessions", "archive", id])
    proxy.closeAllConnections()
    proxy.close()
    assert.strictEqual(status, 0, stderr)
    assert.deepStrictEqual(asked, ["GET /api/me", `POST /api/sessions/${id}/archives`])
  })
})

describe("reins open", () => {
  it("has the browser open the page of a session, and prints its address where there is none", async () => {
    const { at, url } = world()
    const id = await newSession("Look at me")
    const directory = mkdtempSync(join(tmpdir(), "reins-browser-"))
    const [browser, opened] = [join(directory, "browser"), join(directory, "opened")]
    writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > "${opened}.partial" && mv "${opened}.partial" "${opened}"\n`, {
      mode: 0o755
    })
    const page = `${url}/ui/sessions/${id}`
    const seeing = { ...at, env: { ...at.env, BROWSER: browser } }
    const shown = await reinsProcess(seeing, ["open", id.slice(-5)])
    assert.deepStrictEqual([shown.status, shown.stdout, shown.stderr], [0, "", `Opened ${page}\n`])
    assert.strictEqual(await eventually("the browser", () => readFileSync(opened, "utf8")), page)
    const blind = { ...at, env: { ...at.env, BROWSER: join(directory, "none") } }
    const printed = await reinsProcess(blind, ["open", "look at"])
    assert.deepStrictEqual([printed.status, printed.stdout, printed.stderr], [0, `${page}\n`, ""])
    assert.strictEqual((await reinsAt(at, ["open", "--print"])).stdout, `${url}/ui/\n`)
  })
})
