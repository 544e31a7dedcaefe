import { cpSync } from "node:fs"
import { join } from "node:path"
import { remote, token } from "@reins/testing/changes/Fixture"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { endEditors, initialize, openEditor, sessionIn } from "../doors/Editor.js"
import { type At, git, keys, reinsAt, terminal, worldForFile } from "./Cli.js"

const world = worldForFile()
const model = ["--model", "scripted-1"]
const greeting = script("Say it.", { say: "It is said." })

const scope = Effect.runSync(Scope.make())
let forge: Effect.Effect.Success<ReturnType<typeof remote>>
let host = ""

beforeAll(async () => {
  forge = await Effect.runPromise(Effect.provideService(remote("gitea"), Scope.Scope, scope))
  forge.gate.token = token
  host = new URL(forge.url).host
})
afterAll(endEditors)
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** A clone of the private repository, and no credential of it on this machine. */
const clone = (name: string): At => {
  const { at, directory, project } = world()
  const folder = join(directory, name)
  cpSync(project.folder, folder, { recursive: true })
  git(folder, "remote", "set-url", "origin", forge.url)
  return { ...at, cwd: folder }
}

const ofForge = async () => {
  const { client, workspaceId } = world()
  const all = await client.connections.list({ workspace_id: workspaceId }).all()
  return all.filter(({ kind, state }) => kind === "gitea" && state === "active")
}

const sessionsOf = async () => {
  const { client, workspaceId } = world()
  return client.sessions.list({ workspace_id: workspaceId }).all()
}

describe("a private repository at the command line", () => {
  it("names the one command that mends it where nobody can be asked, and makes no session", async () => {
    const at = clone("unasked")
    const mend = `REINS_GIT_TOKEN=TOKEN reins connections add ${forge.url}`
    for (const args of [
      ["run", greeting, ...model],
      ["run", greeting, "--json", ...model]
    ]) {
      const { status, stderr } = await reinsAt(at, args)
      assert.strictEqual(status, 1)
      assert.include(stderr, `is private, or there is none, and no connection of the workspace opens it.`)
      assert.include(stderr, `Save a token for ${host}: ${mend}`)
    }
    assert.deepStrictEqual(await sessionsOf(), [])
    const { client, workspaceId: workspace_id } = world()
    const { id: project_id } = await client.projects.create({ workspace_id, slug: "closed", name: "Closed" })
    // The newest version counts, and it is not the first one.
    await client.projects.publish({ project_id, spec: {} })
    await client.projects.publish({ project_id, spec: { repository: { url: forge.url } } })
    const closed = `${forge.url} is private, or there is none, and no connection of the workspace opens it. Save a token for ${host}: ${mend}`
    for (const args of [
      ["run", greeting, "--project", "closed", ...model],
      ["automations", "add", "Look.", "--name", "x", "--at", "2099-01-01T00:00:00Z", "--project", project_id]
    ]) {
      const { status, stderr } = await reinsAt(at, args)
      assert.strictEqual(status, 1, args.join(" "))
      assert.include(stderr, closed)
    }
    assert.deepStrictEqual((await client.automations.list({ workspace_id })).items, [])
    // An editor shows the words of a refusal, with the project of its folder and without one.
    const editor = await openEditor(at)
    await initialize(editor)
    const refusal = () => sessionIn(editor, at).catch((error: Error) => error.message)
    assert.include(await refusal(), closed)
    await client.projects.update({ project_id, archived: true })
    assert.include(await refusal(), closed)
    await editor.close()
    assert.deepStrictEqual(await sessionsOf(), [])
    const none = await reinsAt(at, ["connections", "add"])
    assert.strictEqual(none.status, 1)
    assert.include(none.stderr, mend)
  })

  it("is asked for its token on a terminal, whose characters are hidden, and the conversation goes on", async () => {
    const at = clone("asked")
    const shown = terminal(at, ["chat", greeting, ...model])
    await shown.until(new RegExp(`Make a token on ${forge.base}/user/settings/applications`))
    await shown.until(new RegExp(`Token for ${host}`))
    shown.type(`a-token-of-somebody-else${keys.enter}`)
    await shown.until(/does not open the repository with this token/)
    await shown.until(new RegExp(`Token for ${host}`))
    shown.type(`${token}${keys.enter}`)
    await shown.until(new RegExp(`The token is saved as the connection ${host}`))
    await shown.until(/(?<!")It is said\./)
    shown.type(keys.leave)
    const { status } = await shown.finished
    assert.strictEqual(status, 0)
    assert.notInclude(shown.raw(), token)
    assert.notInclude(shown.raw(), "somebody-else")
    const [connection, ...others] = await ofForge()
    assert.deepStrictEqual(others, [])
    const [session] = await sessionsOf()
    assert.strictEqual(session?.base.connection_id, connection?.id)
  })

  it("is opened by the connection of its host from then on, also without a terminal", async () => {
    const ran = await reinsAt(clone("open"), ["run", greeting, ...model])
    assert.strictEqual(ran.status, 0, ran.stderr)
    assert.include(ran.stdout, "It is said.")
  })

  it("has its token saved from the environment, unless that does not open it", async () => {
    const at = clone("environment")
    const { client } = world()
    for (const { id } of await ofForge()) await client.connections.disconnect({ connection_id: id })
    const withToken = (given: string) =>
      reinsAt({ ...at, env: { ...at.env, REINS_GIT_TOKEN: given } }, ["connections", "add"])
    const refused = await withToken("a-token-of-somebody-else")
    assert.strictEqual(refused.status, 1)
    assert.include(refused.stderr, `${host} does not open the repository with this token.`)
    assert.deepStrictEqual(await ofForge(), [])
    const { secret } = await client.apiKeys.create({ name: "ci", scopes: ["read", "write"] })
    const mayNot = await reinsAt({ ...at, env: { ...at.env, REINS_API_KEY: secret, REINS_GIT_TOKEN: token } }, [
      "connections",
      "add"
    ])
    assert.strictEqual(mayNot.status, 1)
    assert.match(mayNot.stderr, /key .*scope.*admin/i)
    assert.notInclude(mayNot.stderr, token)
    assert.deepStrictEqual(await ofForge(), [])
    const saved = await withToken(token)
    assert.strictEqual(saved.status, 0, saved.stderr)
    assert.notInclude(saved.stdout + saved.stderr, token)
    assert.lengthOf(await ofForge(), 1)
    const again = await withToken(token)
    assert.include(again.stderr, "needs no token of yours")
    assert.lengthOf(await ofForge(), 1)
  })
})
