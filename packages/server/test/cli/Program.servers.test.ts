import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { listenError } from "@reins/server/ListenError"
import type { Finished } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { type At, begin, reinsAt, reinsProcess, terminal } from "./Cli.js"

let at: At = { cwd: "", env: {} }

beforeEach(() => {
  at = { cwd: mkdtempSync(join(tmpdir(), "reins-program-")), env: {} }
})

afterEach(() => rmSync(at.cwd, { recursive: true, force: true }))

describe("help and version", () => {
  const assertHelp = ({ status, stderr, stdout }: Finished) => {
    assert.deepStrictEqual([status, stderr], [0, ""])
    assert.match(stdout, /^Usage: reins <command>\n/)
    for (const name of ["serve", "init", "run", "sessions", "keys", "backup"])
      assert.match(stdout, new RegExp(`^  ${name}  `, "m"))
    assert.notInclude(stdout, "\u001b")
    assert.isFalse(existsSync(join(at.cwd, ".reins")))
  }

  it("bare reins shows every command, in plain text, and starts nothing", async () =>
    assertHelp(await reinsProcess(at, [])))

  it.each(["help", "--help", "-h"])("and so does reins %s", async (word) => assertHelp(await reinsAt(at, [word])))

  it("reins help <command> shows the options of the command", async () => {
    const { status, stdout } = await reinsAt(at, ["help", "run"])
    assert.strictEqual(status, 0)
    assert.match(stdout, /^ {2}--approve {2,}Allow /m)
    assert.include(stdout, "2 when the turn failed")
  })

  it.each(["-v", "-V", "--version"])("reins %s is the version alone", async (flag) => {
    const { status, stdout } = await reinsAt(at, [flag])
    assert.strictEqual(status, 0)
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  })

  it("has colours on a terminal, and none there with NO_COLOR", async () => {
    const colored = terminal(at, ["help", "serve"])
    assert.strictEqual((await colored.finished).status, 0)
    assert.include(colored.raw(), "\u001b[")
    const plain = terminal({ ...at, env: { NO_COLOR: "1" } }, ["help", "serve"])
    await plain.finished
    assert.notInclude(plain.raw(), "\u001b")
  })

  it("says what is wrong with the words in plain text", async () => {
    for (const args of [["sessions", "spin"], ["run", "--nope"], ["nope"]]) {
      const { status, stderr, stdout } = await reinsAt(at, args)
      assert.strictEqual(status, 1, stdout)
      assert.match(stderr, /\S/)
      assert.notInclude(stderr + stdout, "\u001b")
    }
  })
})

describe("an installation without an account", () => {
  const link = /http:\/\/127\.0\.0\.1:(\d+)\/ui#setup=((?:[0-9A-Z]{4}-){3}[0-9A-Z]{4})/

  it("gets its first one with a link that a terminal shows, no log has, and `reins accounts first` prints", async () => {
    const data = ["--data-dir", join(at.cwd, "data")]
    const shown = terminal(at, ["serve", "--executor", "local", "--port", "0", ...data])
    await shown.until(/Make the first account at \S+#setup=\S+/)
    const [, port = "", code = ""] = link.exec(shown.raw()) ?? assert.fail(shown.raw())
    const printed = await reinsAt(at, ["accounts", "first", ...data])
    assert.deepStrictEqual([printed.status, link.exec(printed.stdout)?.[2]], [0, code], printed.stderr)
    const answer = await fetch(`http://127.0.0.1:${port}/api/auth/register`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "first" },
      body: JSON.stringify({ email: "ann@example.com", password: "a quiet heron at noon", setup_code: code })
    })
    assert.deepStrictEqual(await answer.json(), { status: "verified" })
    shown.type("\u0003")
    await shown.finished
    const refused = await reinsAt(at, ["accounts", "first", ...data])
    assert.deepStrictEqual([refused.status, refused.stdout], [1, ""])
    assert.match(refused.stderr, /^reins: There is an account already/)
  })

  it("says in its log how to get the link, without the code", async () => {
    const data = ["--data-dir", join(at.cwd, "data")]
    const server = begin(at, ["serve", "--executor", "local", "--port", "0", ...data])
    await eventually("the server says that there is no account", () =>
      server.output().includes("There is no account yet")
    )
    process.kill(server.pid, "SIGTERM")
    const { stderr, stdout } = await server.finished
    assert.include(stderr, "reins accounts first")
    const { stdout: printed } = await reinsAt(at, ["accounts", "first", ...data])
    const [, , code = ""] = link.exec(printed) ?? assert.fail(printed)
    assert.notInclude(stderr + stdout, code)
  })
})

describe("a service that cannot start says why in one sentence, before it writes anything", () => {
  const refused = async (args: ReadonlyArray<string>, words: RegExp, run = reinsAt) => {
    const { status, stderr, stdout } = await run(at, ["serve", ...args])
    assert.deepStrictEqual([status, stdout], [1, ""])
    assert.match(stderr, words)
    assert.isFalse(existsSync(join(at.cwd, ".reins")))
  }

  it("a port that is taken", async () => {
    const taken = createServer()
    const port = await new Promise<number>((resolve) => {
      taken.listen(0, "127.0.0.1", () => {
        const address = taken.address()
        resolve(typeof address === "object" && address !== null ? address.port : 0)
      })
    })
    await refused(
      ["--port", String(port)],
      new RegExp(`^reins: Port ${port} of 127\\.0\\.0\\.1 is taken by another program, .+\\.\n$`),
      reinsProcess
    )
    taken.close()
  })

  it("an address that this machine does not have", () =>
    refused(
      ["--host", "192.0.2.1", "--port", "0"],
      /^reins: This machine does not have the address 192\.0\.2\.1\. .+\.\n$/
    ))

  it("a name of no host", () =>
    refused(["--host", "nowhere.invalid"], /^reins: (?:There is no host named|The name) nowhere\.invalid.+\.\n$/))

  it("a data directory that cannot be", () =>
    refused(
      ["--port", "0", "--data-dir", "/proc/nope/deeper"],
      /^reins: The data directory \/proc\/nope\/deeper cannot be used: .+\.\n$/
    ))

  it("a data directory that is a file", async () => {
    const file = join(at.cwd, "file")
    writeFileSync(file, "")
    await refused(["--port", "0", "--data-dir", file], /^reins: The data directory \S+ cannot be used: .+\n$/)
  })

  it("a port that this user may not have, and what has no sentence of its own", () => {
    const say = (fields: object) => listenError(Object.assign(new Error(""), fields), { host: "h", port: 80 }).message
    assert.match(say({ code: "EACCES" }), /^This user may not listen on port 80 of h\. .+\.$/)
    assert.strictEqual(say({ code: "EODD" }), "The service cannot listen on port 80 of h: EODD.")
    assert.strictEqual(say({}), "The service cannot listen on port 80 of h: no reason was given.")
  })
})

describe("a defect", () => {
  afterEach(() => vi.restoreAllMocks())

  it("shows where it is and what it comes from", async () => {
    const file = join(at.cwd, "preloaded.cjs")
    writeFileSync(file, 'process.cwd = () => { throw new Error("outer", { cause: new Error("inner") }) }')
    const { status, stderr } = await reinsProcess({ ...at, env: { NODE_OPTIONS: `--require ${file}` } }, ["config"])
    assert.strictEqual(status, 1)
    assert.match(stderr, /^reins: Error: outer\n +at [\s\S]*\[cause\]: Error: inner\n/)
  })

  it("without a message is not told in silence", async () => {
    const before = process.cwd()
    vi.spyOn(process, "cwd")
      .mockReturnValueOnce(before)
      .mockImplementationOnce(() => {
        throw new Error("")
      })
    const { status, stderr } = await reinsAt(at, ["config"])
    assert.strictEqual(status, 1)
    assert.match(stderr, /^reins: Error.*\n +at /)
  })
})
