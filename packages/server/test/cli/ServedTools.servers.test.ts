import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { callingAgents } from "@reins/testing/harness/SmallAgent"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, describe, it } from "vitest"
import { begin, reinsProcess, worldForFile } from "./Cli.js"

const world = worldForFile({ manifests: callingAgents })

const tool = (run: string, more = "") => `{ description: "x", input: { type: "object" }, ${more} run: ${run} }`

/** Modules that cannot be served, each with the words of the command. */
const unfit: Readonly<Record<string, readonly [string | null, RegExp]>> = {
  "none.mjs": [null, /There is no file \.\/none\.mjs\. Name the module that exports your functions\.$/],
  "syntax.mjs": ["export default {\n", /syntax\.mjs could not be loaded: Unexpected end of input/],
  "broken.mjs": ["throw new Error('I broke\\nin two lines')\n", /broken\.mjs could not be loaded: I broke$/],
  "needing.mjs": [
    'import "not-there"\nexport default {}\n',
    /needing\.mjs could not be loaded: Cannot find \w+ 'not-there'.*\. Install it, or mend the import\.$/
  ],
  "empty.mjs": ["export default {}\n", /empty\.mjs has no tools\. Export an object of functions/],
  "list.mjs": [`export default [${tool("() => 1")}]\n`, /list\.mjs has no tools\. Export an object of functions/],
  "name.mjs": [
    `export default { "a b": ${tool("() => 1")} }\n`,
    /The tool a b of \.\/name\.mjs needs another name: a letter/
  ],
  "run.mjs": [
    'export default { a: { description: "x", input: { type: "object" } } }\n',
    /needs a run: the function itself\.$/
  ],
  "input.mjs": [
    'export default { a: { description: "x", input: { type: "string" }, run() {} } }\n',
    /needs an input: a JSON Schema/
  ],
  "words.mjs": [
    'export default { a: { description: "", input: { type: "object" }, run() {} } }\n',
    /needs a description: words/
  ]
}

/** Functions that give no answer as it should be, each with the words that the model reads. */
const failing: Readonly<Record<string, readonly [string, RegExp]>> = {
  big: ["() => 1n", /The answer of the function is no JSON: .*BigInt/],
  circle: ["() => { const a = {}; a.a = a; return a }", /The answer of the function is no JSON: Converting circular/],
  code: ["() => () => 1", /The answer of the function is no JSON: it is a function/],
  huge: ['() => "x".repeat(1_000_001)', /has 1000003 characters of JSON, and may have 1000000/],
  wide: ['() => "\\u{1F600}".repeat(400_000)', /The answer of the function was refused: /],
  silent: ['() => { throw new TypeError("") }', /TypeError$/],
  thrown: ["() => { throw undefined }", /undefined/],
  nothing: ["() => undefined", /^null$/],
  fine: ["() => ({ ok: true })", /^\{"ok":true\}$/]
}

describe("reins tools serve, given what is wrong", () => {
  it("says in one line what is wrong with a module, and ends with 1", async () => {
    const { at } = world()
    mkdirSync(join(at.cwd, "folder"))
    const refused = async (path: string) => {
      const { status, stderr } = await reinsProcess(at, ["tools", "serve", path])
      assert.deepStrictEqual([status, stderr.trimEnd().split("\n").length], [1, 1], stderr)
      return stderr.trimEnd()
    }
    assert.match(await refused("./folder"), /\.\/folder is a folder\. Name the module in it/)
    for (const [name, [text, words]] of Object.entries(unfit)) {
      if (text !== null) writeFileSync(join(at.cwd, name), text)
      assert.match(await refused(`./${name}`), words)
    }
  })

  it("refuses a schema that is none, and functions that the server does not take, before an agent works", async () => {
    const { at, project } = world()
    const refused = async (...args: ReadonlyArray<string>) => {
      const { status, stderr } = await reinsProcess(at, ["run", "Do it.", "--repo", project.remote, ...args])
      assert.strictEqual(status, 1, stderr)
      return stderr.trimEnd().split("\n").at(-1) ?? ""
    }
    for (const [name, text] of Object.entries({ five: "5", list: "[1]", none: "null" })) {
      writeFileSync(join(at.cwd, `${name}.json`), text)
      assert.match(await refused("--result-schema", `./${name}.json`), /is no JSON object\. Write one/)
    }
    writeFileSync(join(at.cwd, "cut.json"), '{\n"type": ')
    assert.match(
      await refused("--result-schema", "./cut.json"),
      /^reins: The schema in \.\/cut\.json could not be read: /
    )
    writeFileSync(join(at.cwd, "wrong.json"), '{"type":"objec"}')
    assert.match(await refused("--result-schema", "./wrong.json"), /JSON Schema/)
    writeFileSync(join(at.cwd, "kept.mjs"), `export default { delegate: ${tool("() => 1")} }\n`)
    assert.match(await refused("--tools", "./kept.mjs"), /the name of a tool of the service/)
    writeFileSync(
      join(at.cwd, "inner.mjs"),
      `export default { a: ${tool("() => 1").replace('"object"', '"object", required: 5')} }\n`
    )
    assert.match(await refused("--tools", "./inner.mjs"), /JSON Schema/)
  })

  it("tells the model of each answer that is none, goes on, and leaves functions that never end behind", async () => {
    const { at, client, gateway, project, workspaceId } = world()
    // Its timer would keep the process, too.
    const never = tool("() => new Promise(() => setInterval(() => {}, 1000))")
    const all = Object.entries(failing).map(([name, [run]]) => `${name}: ${tool(run)}`)
    writeFileSync(join(at.cwd, "failing.mjs"), `export default { never: ${never}, ${all.join(", ")} }\n`)
    const serving = begin(at, ["tools", "serve", "./failing.mjs", "--concurrency", "1"])
    await eventually("it serves", () => /Answers never/.test(serving.output()))
    const session = await client.sessions.create({
      workspace_id: workspaceId,
      repository: { url: project.remote },
      harness: { provider_id: "alpha", model: "scripted-1" }
    })
    const names = ["never", ...Object.keys(failing)]
    const functions = names.map((name) => ({
      name,
      description: "x",
      input_schema: { type: "object" },
      ...(name === "never" && { deadline_seconds: 1 })
    }))
    const { turn_id = "" } = await client.messages.send({
      session_id: session.id,
      content: script("Do it.", ...names.map((name) => ({ tool: name, args: {} })), { say: "Done." }),
      tools: { functions }
    })
    const turn = await client.turns.wait({ turn_id })
    assert.strictEqual(turn.state, "succeeded", serving.output())
    const told = (gateway.requests.at(-1)?.messages ?? []).flatMap(({ role, text }) =>
      role === "tool_result" ? [text] : []
    )
    const expected = [/The program that took the call gave no answer within 1 seconds/]
    for (const [, words] of Object.values(failing)) expected.push(words)
    assert.strictEqual(told.length, expected.length)
    for (const [at, words] of expected.entries()) assert.match(told[at]?.slice(0, 300) ?? "", words)
    process.kill(serving.pid, "SIGINT")
    assert.strictEqual((await serving.finished).status, 0, serving.output())
    assert.include(serving.output(), "silent has failed: TypeError")
  })

  it("ends a run with its turn, also when a function goes on for ever", async () => {
    const { at, project } = world()
    const run = "() => { setInterval(() => {}, 1000); return 7 }"
    writeFileSync(join(at.cwd, "lasting.mjs"), `export default { lasting: ${tool(run)} }\n`)
    const content = script("Do it.", { tool: "lasting", args: {} }, { say: "It is done." })
    const { status, stderr, stdout } = await reinsProcess(at, [
      ...["run", content, "--repo", project.remote, "--tools", "./lasting.mjs", "--model", "scripted-1"]
    ])
    assert.strictEqual(status, 0, stderr)
    assert.include(stdout, "It is done.")
  })

  it("says that no server answers, and that a key is wrong", async () => {
    const { at } = world()
    writeFileSync(join(at.cwd, "fine.mjs"), `export default { fine: ${tool("() => 1")} }\n`)
    const away = await reinsProcess({ ...at, env: { ...at.env, REINS_URL: "http://127.0.0.1:7" } }, [
      "tools",
      "serve",
      "./fine.mjs"
    ])
    assert.strictEqual(away.status, 1)
    assert.match(away.stderr, /^reins: No server answers at http:\/\/127\.0\.0\.1:7/)
    const wrong = await reinsProcess({ ...at, env: { ...at.env, REINS_API_KEY: "rk_nobody" } }, [
      "tools",
      "serve",
      "./fine.mjs"
    ])
    assert.strictEqual(wrong.status, 1)
    assert.match(wrong.stderr, /key/)
  })
})
