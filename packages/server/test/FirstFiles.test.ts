import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Reins, ReinsApiError } from "@reins/client"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { eventually } from "@reins/testing/process/Waiting"
import { variants } from "@reins/testing/Variants"
import { Effect, Exit, Scope } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { git, makeProject, worldForFile } from "./cli/Cli.js"

const world = worldForFile()
const scope = Effect.runSync(Scope.make())
let remote = ""
/** A gate that requests for the objects of a store wait at. */
let held: { readonly opened: Promise<void>; waiting: number } | undefined

const stores = () => join(world().directory, "data", "object-stores")

const isFilling = (): boolean =>
  existsSync(stores()) && readdirSync(stores()).some((name) => existsSync(join(stores(), name, "reins-unfinished")))

beforeAll(async () => {
  const served = gitHttpServer(world().directory, null, async ({ method }) => {
    if (held === undefined || method !== "POST" || !isFilling()) return false
    held.waiting++
    await held.opened
    return false
  })
  remote = (await Effect.runPromise(Effect.provideService(served, Scope.Scope, scope))).url
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** Makes those who fill a store wait. */
const hold = () => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const holding = { opened, waiting: 0 }
  held = holding
  return {
    reached: () => eventually("a store is being filled", () => holding.waiting > 0),
    open: () => {
      held = undefined
      open()
    }
  }
}

let made = 0
/** A repository with one file that nobody has cloned yet. */
const newRepository = () => {
  const name = `first-${++made}`
  const directory = join(world().directory, name)
  mkdirSync(directory)
  const { folder } = makeProject(directory)
  writeFileSync(join(folder, "a.txt"), "a\n")
  git(folder, "add", "--all")
  git(folder, "commit", "--quiet", "-m", "A file")
  git(folder, "push", "--quiet", "origin", "main")
  return { url: `${remote}/${name}/remote.git` }
}

const client = () => new Reins({ baseUrl: world().url, apiKey: world().apiKey, maxRetries: 0 })

const newSession = async (repository = newRepository()) => {
  const harness = { provider_id: "alpha", model: "scripted-1" }
  return (await client().sessions.create({ workspace_id: world().workspaceId, repository, harness })).id
}

const upload = (session_id: string, path: string, content = `${path}\n`) =>
  client().sessions.uploadFile({ session_id, path, content })

const namesIn = async (session_id: string) =>
  (await client().sessions.listFiles({ session_id })).items.map(({ name }) => name).sort()

const contentOf = async (session_id: string, path: string) =>
  (await client().sessions.getFile({ session_id, path })).content

/** Runs a command in a turn. Gives the paths that differ from the repository then. */
const turn = async (session_id: string, cmd: string) => {
  const content = script("Look.", { tool: "bash", cmd }, { say: "Seen." })
  const { turn_id } = await client().messages.send({ session_id, content })
  const ended = await client().turns.wait({ turn_id: turn_id ?? "" })
  assert.strictEqual(ended.state, "succeeded", JSON.stringify(ended))
  const [newest] = (await client().sessions.listChangesets({ session_id })).items
  const files = await client().changesets.listFiles({ changeset_id: newest?.id ?? "" })
  return (files.items ?? []).map(({ path }) => path).sort()
}

const refusalOf = async (call: PromiseLike<unknown>): Promise<ReinsApiError> => {
  const error = await call.then(
    () => assert.fail("it was not refused"),
    (error: unknown) => error
  )
  return error instanceof ReinsApiError ? error : assert.fail(String(error))
}

const both = "cat a.txt notes/given.txt > both.txt"

describe("a session with a repository, before its first turn", () => {
  it("takes a file, lists and reads it beside the repository, and its first turn has both", async () => {
    const session_id = await newSession()
    const [list, read] = [
      await refusalOf(client().sessions.listFiles({ session_id })),
      await refusalOf(client().sessions.getFile({ session_id, path: "a.txt" }))
    ]
    for (const { code, details, message, status } of [list, read]) {
      assert.deepStrictEqual([status, code, details], [409, "executor_unavailable", { workspace: "none" }])
      assert.include(message, "makes it, and so do an upload and the first message")
    }
    await upload(session_id, "notes/given.txt")
    assert.deepStrictEqual(await namesIn(session_id), ["a.txt", "notes"])
    assert.strictEqual(await contentOf(session_id, "a.txt"), "a\n")
    assert.strictEqual(await contentOf(session_id, "notes/given.txt"), "notes/given.txt\n")
    assert.deepStrictEqual(await turn(session_id, both), ["both.txt", "notes/given.txt"])
    assert.strictEqual(await contentOf(session_id, "both.txt"), "a\nnotes/given.txt\n")
  })

  it("takes a file while another session of its repository fills the store, and each has its own", async () => {
    const repository = newRepository()
    const ids = [await newSession(repository), await newSession(repository), await newSession(repository)]
    const { open, reached } = hold()
    const uploads = ids.map((id) => upload(id, "notes/given.txt", `${id}\n`))
    await reached()
    // A message does not wait for the upload, and its turn does.
    const turns = ids.map((id) => turn(id, "cat a.txt > seen.txt"))
    open()
    await Promise.all(uploads)
    for (const paths of await Promise.all(turns)) assert.deepStrictEqual(paths, ["notes/given.txt", "seen.txt"])
    for (const id of ids) {
      assert.strictEqual(await contentOf(id, "notes/given.txt"), `${id}\n`)
      assert.strictEqual(await contentOf(id, "seen.txt"), "a\n")
      assert.deepStrictEqual(await turn(id, both), ["both.txt", "notes/given.txt", "seen.txt"])
    }
  })

  it("can be closed while its upload fills the store, and the next session of the repository gets it", async () => {
    const repository = newRepository()
    const [session_id, next] = [await newSession(repository), await newSession(repository)]
    const { open, reached } = hold()
    const refused = refusalOf(upload(session_id, "notes/given.txt"))
    await reached()
    await client().sessions.close({ session_id })
    open()
    assert.deepInclude(await refused, { status: 409, code: "invalid_transition" })
    const folder = join(world().directory, "data", "sessions", session_id, "workspace")
    await eventually("its files are removed", () => !existsSync(folder))
    await upload(next, "notes/given.txt")
    assert.deepStrictEqual(await turn(next, both), ["both.txt", "notes/given.txt"])
  })

  variants(() => {
    it("can be closed while its first turn fills the store, and another session does not wait for it", async () => {
      const repository = newRepository()
      const [session_id, next] = [await newSession(repository), await newSession(repository)]
      const { open, reached } = hold()
      const { turn_id } = await client().messages.send({ session_id, content: script("Go.", { say: "Gone." }) })
      await reached()
      await client().sessions.close({ session_id })
      const ended = await client().turns.wait({ turn_id: turn_id ?? "" })
      assert.strictEqual(ended.state, "cancelled", JSON.stringify(ended))
      open()
      await upload(next, "notes/given.txt")
      assert.deepStrictEqual(await turn(next, both), ["both.txt", "notes/given.txt"])
      assert.isFalse(isFilling())
    })
  })
})
