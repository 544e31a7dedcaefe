import { rmSync, writeFileSync } from "node:fs"
import { createServer, request } from "node:http"
import { join } from "node:path"
import { endlessTool } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { variants } from "@reins/testing/Variants"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { type At, begin, git, keys, type Running, reinsAt, reinsProcess, terminal, worldForFile } from "./Cli.js"

const world = worldForFile()
const model = ["--model", "scripted-1"]

const greeting = script(
  "Add a greeting.",
  { say: "I write it.", tool: "write", path: "hello.txt", content: "hi\n" },
  { say: "There it is." }
)

/** A turn with words and a tool that does not end. */
const lasting = script("Work.", { say: "I begin.", tool: "bash", cmd: "tail -s 37 -f /dev/null" }, { say: "x" })

/** Waits until a tool of the turn runs. Gives the session. */
const withTool = async (running: Running): Promise<string> => {
  const { client } = world()
  const id = await eventually("a session", () => /^Session (sess_\w+)$/m.exec(running.output())?.[1])
  await eventually("a running tool", async () =>
    (await client.sessions.listEvents({ session_id: id })).items.some(({ type }) => type === "tool.started")
  )
  return id
}

/** The service behind a proxy that never answers who cancels a turn. */
const deafToCancels = async (url: string): Promise<{ readonly url: string; readonly close: () => void }> => {
  const proxy = createServer((asked, answered) => {
    if (asked.url?.endsWith("/cancellations")) return
    const { headers, method = "GET" } = asked
    const forwarded = request(`${url}${asked.url}`, { headers, method }, (answer) => {
      answered.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(answered)
    })
    forwarded.on("error", () => answered.destroy())
    asked.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
  const address = proxy.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const close = () => {
    proxy.closeAllConnections()
    proxy.close()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

describe("reins run", () => {
  it("streams words and tools, shows the diff, tells how to deliver, and ends with 0; nothing of it is for a terminal", async () => {
    const { at } = world()
    const { status, stderr, stdout } = await reinsAt(at, ["run", greeting, ...model])
    assert.strictEqual(status, 0, stderr)
    assert.match(
      stdout,
      /^I write it\.\n✓ write: hello\.txt\nThere it is\.\n\ndiff --git a\/hello\.txt .*\n[\s\S]*\n\+hi\n$/
    )
    assert.match(stderr, /^Session (sess_\w+)\n1 file changed, \+1 -0\nDeliver it later: reins sessions deliver \1\n$/)
    assert.notInclude(stdout + stderr, "\u001b")
  })

  it("takes the message from the standard input, goes on in a session, and delivers without asking", async () => {
    const { at, project } = world()
    const first = await reinsProcess(at, ["run", ...model], greeting)
    const id = /^Session (sess_\w+)$/m.exec(first.stderr)?.[1] ?? ""
    const more = script("Go on.", { tool: "write", path: "more.txt", content: "more\n" }, { say: "More." })
    const second = await reinsAt(at, ["run", more, "--session", id, "--deliver", "--branch", "greetings"])
    assert.strictEqual(second.status, 0, second.stderr)
    assert.notInclude(second.stdout, "There it is.")
    assert.include(second.stderr, `Delivered as the branch greetings of ${project.remote}.`)
    assert.include(second.stderr, `Session ${id}\n`)
    assert.strictEqual(git(project.remote, "ls-tree", "--name-only", "greetings"), "hello.txt\nmore.txt")
  })

  it("with --json writes each event as it is, without a gap, and then the result", async () => {
    const { at, client } = world()
    const { status, stderr, stdout } = await reinsAt(at, ["run", greeting, ...model, "--json", "--deliver"])
    assert.deepStrictEqual([status, stderr], [0, ""])
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    const result = lines.pop()
    assert.strictEqual(result.type, "result")
    assert.deepInclude(result, { exit_code: 0 })
    assert.nestedPropertyVal(result, "turn.state", "succeeded")
    assert.nestedPropertyVal(result, "changeset.file_count", 1)
    assert.nestedPropertyVal(result, "delivery.state", "succeeded")
    const { items } = await client.sessions.listEvents({ session_id: result.session_id, limit: 1000 })
    assert.deepStrictEqual(lines, JSON.parse(JSON.stringify(items.slice(0, lines.length))))
    assert.strictEqual(lines.at(-1).type, "turn.succeeded")
  })

  it("ends as SIGPIPE ends others when nobody reads its words, and leaves the turn to the server", async () => {
    const { at, client } = world()
    const { status, stderr } = await begin(at, ["run", greeting, ...model], "", "stdout").finished
    assert.strictEqual(status, 141, stderr)
    const id = /^Session (sess_\w+)$/m.exec(stderr)?.[1] ?? ""
    const state = async () => (await client.turns.list({ session_id: id })).items[0]?.state
    await eventually("the turn has succeeded", async () => (await state()) === "succeeded")
  })

  variants(() => {
    it("does its work when nobody reads what it tells besides", async () => {
      const { status, stdout } = await begin(world().at, ["run", greeting, ...model], "", "stderr").finished
      assert.strictEqual(status, 0)
      assert.include(stdout, "There it is.")
    })
  })

  it("ends with 2 when the turn failed, and says why", async () => {
    const { at } = world()
    const failing = script("Fail.", { error: 401, message: "no such key" })
    const { status, stderr, stdout } = await reinsAt(at, ["run", failing, ...model])
    assert.strictEqual(status, 2, stderr)
    assert.match(stderr, /^The turn failed: .*no such key.*\n$/m)
    assert.strictEqual(stdout, "")
    const json = await reinsAt(at, ["run", failing, ...model, "--json"])
    assert.strictEqual(json.status, 2)
    assert.deepInclude(JSON.parse(json.stdout.trimEnd().split("\n").at(-1) ?? ""), { exit_code: 2, changeset: null })
  })

  variants(() => {
    it("ends with 4 when the delivery does not succeed", async () => {
      const { at, project } = world()
      git(project.folder, "push", "--quiet", "origin", "main:taken")
      git(project.folder, "commit", "--quiet", "--allow-empty", "-m", "Elsewhere")
      git(project.folder, "push", "--quiet", "origin", "HEAD:taken")
      const { status, stderr } = await reinsAt(at, ["run", greeting, ...model, "--deliver", "--branch", "taken"])
      assert.strictEqual(status, 4, stderr)
      assert.match(stderr, /^The delivery is (?:blocked|failed): .+\n$/m)
    })
  })

  it("a second Ctrl-C leaves the turn to the server and ends with 5", async () => {
    const { at, client, url } = world()
    const deaf = await deafToCancels(url)
    const running = begin({ ...at, env: { ...at.env, REINS_URL: deaf.url } }, ["run", endlessTool(), ...model])
    const id = await withTool(running)
    process.kill(running.pid, "SIGINT")
    await eventually("the first is heard", () => running.output().includes("Cancelling the turn."))
    process.kill(running.pid, "SIGINT")
    const { status, stderr } = await running.finished
    deaf.close()
    assert.strictEqual(status, 5, stderr)
    assert.match(stderr, /The turn goes on without you\. Look at it again: reins sessions watch sess_\w+\n$/)
    const turn_id = (await client.sessions.get({ session_id: id })).active_turn_id ?? ""
    await client.turns.cancel({ turn_id })
    await client.turns.wait({ turn_id })
  })

  it("says in a sentence what keeps it from beginning, and ends with 1", async () => {
    const { at, directory, url } = world()
    const elsewhere: At = { ...at, cwd: directory }
    const cases: ReadonlyArray<readonly [At, ReadonlyArray<string>, RegExp]> = [
      [elsewhere, ["run", "x"], /^reins: \S+ is not in a git repository\. Name another folder, .+\n$/],
      [at, ["run", " "], /^reins: The message is empty\. .+\n$/],
      [at, ["run", "x", "--provider", "nope"], /^reins: .*nope.*\n$/],
      [
        at,
        ["run", "x", "--workspace", "nope"],
        /^reins: There is no workspace "nope"\. There are: .+ \(wsp_\w+\)\.\n$/
      ],
      [at, ["run", "x", "--session", "sess_nope"], /^reins: .+\n$/],
      [at, ["run", "x", "--session", ""], /^reins: An id is empty .+\n$/],
      [
        { ...at, env: { ...at.env, REINS_API_KEY: "" } },
        ["run", "x"],
        /^reins: There is no key for http:\S+\. Run `reins init`, or set REINS_URL and REINS_API_KEY\.\n$/
      ],
      [
        { ...at, env: { ...at.env, REINS_URL: "" } },
        ["run", "x"],
        /^reins: There is no server\. Run `reins init`, .+\n$/
      ],
      [
        { ...at, env: { ...at.env, REINS_URL: "nowhere" } },
        ["run", "x"],
        /^reins: baseUrl must be an http or https URL.+\n$/
      ],
      [
        { ...at, env: { ...at.env, REINS_API_KEY: "rk_wrong" } },
        ["run", "x"],
        new RegExp(`^reins: ${url} does not know the key\\. Run .+\\n$`)
      ],
      [
        { ...at, env: { ...at.env, REINS_URL: "http://127.0.0.1:9" } },
        ["run", "x"],
        /^reins: No server answers at http:\/\/127\.0\.0\.1:9 \(.+\)\. Start one with `reins serve`, or set REINS_URL\.\n$/
      ]
    ]
    for (const [where, args, words] of cases) {
      const { status, stderr, stdout } = await reinsAt(where, args)
      assert.strictEqual(status, 1, `${args}: ${stderr}`)
      assert.match(stderr, words)
      assert.strictEqual(stdout, "")
    }
  })

  it("tells what of the folder the agent will not see", async () => {
    const { at, project } = world()
    const file = join(project.folder, "new.txt")
    writeFileSync(file, "new\n")
    const { status, stderr } = await reinsAt(at, ["run", "Hello.", ...model])
    rmSync(file)
    assert.strictEqual(status, 0, stderr)
    assert.include(stderr, "Note: Changes that are not committed are not part of it.\n")
    assert.match(stderr, /The agent changed nothing\.\n$/)
  })
})

describe("reins run on a terminal", () => {
  it("shows colours and what it waits for, asks whether to deliver, and delivers", async () => {
    const { at, project } = world()
    const shown = terminal(at, ["run", greeting, ...model])
    await shown.until(/Preparing the working tree|Cloning the repository|Starting the agent|Waiting for the model/)
    await shown.until(/There it is\./)
    await shown.until(/\+hi/)
    await shown.until(/Deliver this as a branch of the repository\?/)
    shown.type("y")
    await shown.until(/Delivered as the branch (reins\S+) of /)
    const { status, text } = await shown.finished
    assert.strictEqual(status, 0)
    assert.match(text, /\d s, [\d,]+ tokens read, [\d,]+ written.* · http:\S+\/ui\/sessions\/sess_\w+/)
    assert.include(shown.raw(), "\u001b[32m+hi\u001b[39m")
    assert.match(git(project.remote, "branch", "--list", "reins/*"), /reins\/sess_/)
  })

  it("shows a tool when it starts, below words without an end of line, and for how long; Ctrl-C cancels its turn and ends with 130", async () => {
    const { at, client } = world()
    const shown = terminal(at, ["run", lasting, ...model])
    await shown.until(/I begin\./)
    await shown.until(/bash: tail -s 37 -f \/dev\/null [2-9] s/)
    shown.type(keys.interrupt)
    const { status, text } = await shown.finished
    assert.strictEqual(status, 130, text)
    assert.match(text, /Cancelling the turn\.[\s\S]*The turn was cancelled\./)
    const session_id = /Session (sess_\w+)/.exec(shown.raw())?.[1] ?? ""
    assert.strictEqual((await client.sessions.get({ session_id })).activity, "idle")
  })

  variants(() => {
    it("has no colours with NO_COLOR, and takes no for an answer", async () => {
      const { at, project } = world()
      const before = git(project.remote, "branch")
      const shown = terminal({ ...at, env: { ...at.env, NO_COLOR: "1" } }, ["run", greeting, ...model])
      await shown.until(/Deliver this as a branch of the repository\?/)
      shown.type("n")
      const { status, text } = await shown.finished
      assert.strictEqual(status, 0)
      assert.match(text, /Deliver it later: reins sessions deliver sess_/)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is how a terminal is told of a style
      assert.notMatch(shown.raw(), /\u001b\[[\d;]*m/)
      assert.strictEqual(git(project.remote, "branch"), before)
    })

    it("ends with 130, too, when somebody else cancels the turn", async () => {
      const { at, client } = world()
      const shown = terminal(at, ["run", lasting, ...model])
      await shown.until(/bash: tail/)
      const id = /Session (sess_\w+)/.exec(shown.raw())?.[1] ?? ""
      const turn_id = (await client.sessions.get({ session_id: id })).active_turn_id ?? ""
      await client.turns.cancel({ turn_id })
      assert.strictEqual((await shown.finished).status, 130)
    })

    it("a diff that nobody reads ends as SIGPIPE ends others", async () => {
      const { at } = world()
      const ran = await reinsAt(at, ["run", greeting, ...model])
      const id = /^Session (sess_\w+)$/m.exec(ran.stderr)?.[1] ?? ""
      const shown = await begin(at, ["sessions", "diff", id], "", "stdout").finished
      assert.deepStrictEqual([shown.status, shown.stderr], [141, ""])
    })
  })
})

describe("reins run at a server that takes no folders", () => {
  const strict = worldForFile({ allowLocalRepositories: false })

  it("is refused at once, and says what to do", async () => {
    const { at, client, workspaceId } = strict()
    const { status, stderr } = await reinsAt(at, ["run", greeting, ...model])
    assert.strictEqual(status, 1, stderr)
    assert.match(
      stderr,
      /no repository by its file path: push it and use its https URL, .*REINS_ALLOW_LOCAL_REPOSITORIES=true/
    )
    assert.lengthOf((await client.sessions.list({ workspace_id: workspaceId })).items, 0)
  })
})
