import { execFileSync, spawn, spawnSync } from "node:child_process"
import { closeSync, constants, openSync, readSync } from "node:fs"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { type Caller, newCaller } from "@reins/testing/process/Caller"
import { placeForEachTest } from "@reins/testing/process/Place"
import { steadyPort } from "@reins/testing/process/Ports"
import { published, reins, type StartingServer, spawnServer } from "@reins/testing/process/ServerProcess"
import { assertAnswers, beginTurn } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { assert, describe, it } from "vitest"

const place = placeForEachTest()

/** A server that a shell starts with the words of `$0` and `$@`, and a turn that runs on it. */
const begin = async (shell: string) => {
  const { dataDir, directory } = place
  const port = await steadyPort()
  const server = spawnServer({
    dataDir,
    env: { REINS_CACHE_DIR: cacheWithSmallAgent(directory), REINS_LOG_LEVEL: "info", LOG: join(directory, "log") },
    args: ["--port", String(port)],
    launcher: ["bash", "-c", `exec ${shell}`]
  })
  const url = `http://127.0.0.1:${port}`
  await eventually("the server is ready", () => isReady(url))
  const caller = await newCaller({ url }, dataDir, place.gateway)
  const client = caller.at({ url })
  const session_id = await caller.newSession(client)
  const { turn_id } = await beginTurn(client, session_id)
  return { server, url, caller, client, session_id, turn_id }
}

const isReady = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/readyz`)).ok
  } catch {
    return false
  }
}

/** Requests that are refused, each of which is a line of the log. */
const makeLines = async (url: string, count: number): Promise<void> => {
  const path = `/api/${"x".repeat(1500)}`
  for (let made = 0; made < count; made += 50)
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { status } = await fetch(url + path)
        assert.strictEqual(status, 404)
      })
    )
}

/** The text that is in a pipe now. */
const readNow = (pipe: number): string => {
  const bytes = Buffer.alloc(65_536)
  try {
    return bytes.toString("utf8", 0, readSync(pipe, bytes))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return ""
    throw error
  }
}

interface Begun {
  readonly server: StartingServer
  readonly client: Reins
  readonly caller: Caller
  readonly session_id: string
  readonly turn_id: string
}

/** Checks that the turn has run on, that another one works, and that the server ends in order. */
const assertGoesOn = async ({ client, server, session_id, turn_id }: Begun): Promise<void> => {
  assert.strictEqual((await client.turns.get({ turn_id })).state, "running")
  await client.turns.cancel({ turn_id })
  await client.turns.wait({ turn_id })
  await assertAnswers(client, session_id)
  server.kill("SIGTERM")
  assert.deepStrictEqual(await server.ended, { code: 0, signal: null })
}

describe("a server goes on with its turns", () => {
  const lost: Readonly<Record<string, string>> = {
    "its output and standard error are a full disk": ">/dev/full 2>&1",
    "the readers of its output and its standard error have ended": "> >(:) 2> >(:)"
  }
  for (const [when, redirected] of Object.entries(lost))
    it(`while ${when}`, async () => {
      const begun = await begin(`"$0" "$@" ${redirected}`)
      await makeLines(begun.url, 100)
      await assertGoesOn(begun)
    })

  it("while the reader of its log rests, goes and comes back, and tells how many lines are missing", {
    timeout: 120_000
  }, async () => {
    const log = join(place.directory, "log")
    execFileSync("mkfifo", [log])
    const read = () => openSync(log, constants.O_RDONLY | constants.O_NONBLOCK)
    const resting = read()
    const begun = await begin('"$0" "$@" 2>"$LOG"')
    await makeLines(begun.url, 900)
    closeSync(resting)
    await makeLines(begun.url, 50)
    const back = read()
    let text = ""
    const missing = await eventually("a line tells what is missing", () => {
      text += readNow(back)
      const line = text.split("\n").find((each) => each.includes('"message":"lines of the log are missing'))
      return line !== undefined && JSON.parse(line).annotations
    })
    closeSync(back)
    assert.include(["EAGAIN", "EPIPE"], missing.code)
    assert.isAbove(missing.lines, 0)
    await assertGoesOn(begun)
  })

  it("while its terminal takes nothing, and ends in order when the terminal is closed", {
    timeout: 120_000
  }, async () => {
    const output = join(place.directory, "terminal")
    execFileSync("mkfifo", [output])
    const resting = openSync(output, constants.O_RDONLY | constants.O_NONBLOCK)
    const words = '"$(printf "%q " "$0" "$@")"'
    const { client, server, turn_id, url } = await begin(`script --quiet --command ${words} /dev/null >"${output}"`)
    await makeLines(url, 300)
    assert.strictEqual((await client.turns.get({ turn_id })).state, "running")
    server.kill("SIGKILL")
    await eventually("the server has ended", async () => !(await isReady(url)))
    closeSync(resting)
    await eventually("its data is free", () => reins(place.dataDir, ["migrate"]).status === 0)
  })
})

/** Runs a command whose output or standard error nobody reads. */
const runUnread = (args: ReadonlyArray<string>, unread: "stdout" | "stderr") =>
  new Promise<{ readonly status: number | null; readonly text: string }>((resolve) => {
    const child = spawn(process.execPath, [published, ...args], { stdio: ["ignore", "pipe", "pipe"] })
    let text = ""
    child[unread].destroy()
    child[unread === "stdout" ? "stderr" : "stdout"].on("data", (chunk) => (text += String(chunk)))
    child.once("close", (status) => resolve({ status, text }))
  })

describe("a command", () => {
  it("ends without a word, and as SIGPIPE ends others, when nobody reads its output", async () => {
    for (const command of [["config"], ["--help"], ["harnesses", "list"]])
      assert.deepStrictEqual(await runUnread(command, "stdout"), { status: 141, text: "" }, command.join(" "))
  })

  it("does its work when nobody reads what it tells besides", async () => {
    const server = spawnServer({ dataDir: place.dataDir })
    await server.ready
    const target = join(place.directory, "backup")
    const { status, text } = await runUnread(["backup", target, "--data-dir", place.dataDir], "stderr")
    assert.deepStrictEqual([status, JSON.parse(text).event], [0, "backup"])
  })

  it("says that its output could not be written to a full disk", () => {
    const { status, stderr } = spawnSync("bash", ["-c", '"$0" "$1" config >/dev/full', process.execPath, published], {
      encoding: "utf8"
    })
    const sentence = "reins: The output could not be written: ENOSPC: no space left on device, write\n"
    assert.deepStrictEqual([status, stderr], [1, sentence])
  })
})
