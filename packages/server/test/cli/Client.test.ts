import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, beforeAll, describe, it } from "vitest"
import { password } from "../Service.js"
import { reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()
const said = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { status, stderr, stdout } = await reinsAt(world().at, args)
  assert.strictEqual(status, 0, `${args.join(" ")}: ${stderr}`)
  return stdout + stderr
}
const refusal = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { status, stderr } = await reinsAt(world().at, args)
  assert.strictEqual(status, 1, args.join(" "))
  assert.notMatch(stderr, /PATCH|\/api|body\.|Value error|harness\.model/)
  return stderr
}

let session = ""
beforeAll(async () => {
  const failing = script("Fail.", { error: 401, message: "no such key" })
  const { stderr } = await reinsAt(world().at, ["run", failing, "--model", "scripted-1"])
  session = /^Session (sess_\w+)$/m.exec(stderr)?.[1] ?? assert.fail(stderr)
})

describe("the commands of a session", () => {
  it("show it, call it failed after a failed turn, rename it, put it away and close it after a yes", async () => {
    assert.match(await said("sessions", "list"), new RegExp(`^${session} +failed `, "m"))
    assert.match(await said("sessions", "show", session), /^Agent +OpenCode \(alpha\)$/m)
    await said("sessions", "rename", session, "Another title")
    assert.match(await said("sessions", "show", session), /^Title +Another title$/m)
    assert.strictEqual(await refusal("sessions", "cancel", session), "reins: Nothing runs in this session now.\n")
    await said("sessions", "archive", session)
    assert.match(await said("sessions", "show", session), /^State +archived$/m)
    await said("sessions", "unarchive", session)
    assert.match(await refusal("sessions", "close", session), /--yes/)
    await said("sessions", "close", session, "--yes")
    assert.match(await said("sessions", "show", session), /^State +closed$/m)
  })

  it("list what waits, what was delegated and what was used", async () => {
    assert.strictEqual(await said("requests"), "Nothing waits for you.\n")
    assert.match(await refusal("answer", "int_none", "once"), /No question int_none is open\./)
    assert.strictEqual(await said("delegations", "list", session), "This session has delegated nothing.\n")
    assert.match(await said("usage"), /^DAY +TURNS +READ +WRITTEN +COST\n\d{4}-\d\d-\d\d +1 /)
    assert.match(await said("usage", session), /^Total +1 /m)
  })
})

describe("the commands of a workspace", () => {
  it("list models and connections, and check and choose", async () => {
    assert.match(await said("models"), /^MODEL +CONTEXT +NAME\nscripted-1 /m)
    const listed = await said("connections", "ls")
    const [id = ""] = /con_\w+/.exec(listed) ?? assert.fail(listed)
    assert.strictEqual(await said("connections", "check", id), "The connection works.\n")
    await said("connections", "prefer", id, "scripted-2")
    assert.match(await said("models"), /^scripted-2 +preferred/m)
    assert.match(await said("projects", "list"), /^There is no project\./)
    assert.match(await refusal("connections", "remove", id), /--yes/)
  })

  it("name the models where one has to be chosen, and agents that are not there before a session is made", async () => {
    const { client, workspaceId } = world()
    const count = async () => (await client.sessions.list({ workspace_id: workspaceId })).items.length
    const before = await count()
    assert.match(
      await refusal("run", "x", "--agent", "opncode"),
      /^reins: There is no agent "opncode"\. Did you mean opencode\?/
    )
    assert.match(await refusal("run", "x", "--agent", "opencode", "--provider", "alpha"), /name the same thing/)
    assert.strictEqual(await count(), before)
    const done = script("Hello.", { say: "Hi." })
    assert.include(await said("run", done, "--agent", "OpenCode", "--model", "scripted-1"), "Hi.")
  })
})

describe("reins api", () => {
  it("sends a request with the key, pages and a body, and fails where the server refuses", async () => {
    assert.strictEqual(JSON.parse(await said("api", "get", "/api/me")).auth.via, "api_key")
    const path = "/api/workspaces/{workspace}/sessions"
    const pages = await said("api", "GET", path, "--query", "limit=1", "--paginate")
    const { client, workspaceId } = world()
    const { items } = await client.sessions.list({ workspace_id: workspaceId, limit: 200 })
    assert.deepStrictEqual(
      pages
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).id),
      items.map(({ id }) => id)
    )
    const body = ["--data", '{"title": "By hand"}', "--idempotency-key", "by-hand"]
    const [one, other] = [await said("api", "POST", path, ...body), await said("api", "POST", path, ...body)]
    assert.strictEqual(JSON.parse(one).id, JSON.parse(other).id)
    const refused = await reinsAt(world().at, ["api", "GET", "/api/sessions/sess_none"])
    assert.strictEqual(refused.status, 1)
    assert.match(refused.stderr, /^reins: The server answered 4\d\d\.\n$/)
    assert.property(JSON.parse(refused.stdout), JSON.parse(refused.stdout).error ? "error" : "detail")
    assert.match(
      (await reinsAt(world().at, ["api", "FETCH", "/api/me"])).stderr,
      /^reins: "FETCH" is no method\. There are: GET, /
    )
  })
})

describe("reins login", () => {
  it("makes a key by a password and stores it, and says what is wrong", async () => {
    const { at, client, directory, url } = world()
    const { account } = await client.accounts.getMe()
    const env = { HOME: directory, XDG_CONFIG_HOME: `${directory}/other`, REINS_PASSWORD: password }
    const login = (extra: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
      reinsAt({ cwd: at.cwd, env: { ...env, ...extra } }, ["login", "--url", url, ...args])
    const done = await login({}, "--email", account.email)
    assert.strictEqual(done.status, 0, done.stderr)
    assert.include(done.stderr, `Logged in to ${url} as ${account.email}.`)
    const me = await reinsAt({ cwd: at.cwd, env }, ["api", "GET", "/api/me"])
    assert.strictEqual(JSON.parse(me.stdout).account.email, account.email)
    const wrong = await login({ REINS_PASSWORD: "another long password" }, "--email", account.email)
    assert.strictEqual(wrong.stderr, "reins: The address or the password is wrong.\n")
    assert.match((await login({})).stderr, /Give it with --email\.\n$/)
  })
})
