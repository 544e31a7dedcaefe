import { assert, describe, it } from "@effect/vitest"
import { hostToken, Reins, ReinsApiError, type RepositoryCheck, saveHostToken } from "../src/index.js"
import { json, refuse, type ScriptedServer, serve } from "./ScriptedServer.js"

const repository = { workspace_id: "ws_1", url: "https://git.test/team/app.git" }

const wanted = hostToken({ forge: null, host: "git.test", url: repository.url, ways: ["token"] })

/** Saves a token before a server whose look at the repository gives this state, or is refused. */
const saving = async (state: RepositoryCheck["state"] | "refusal", typed: { token: string; user?: string }) => {
  await using server = await serve((response, { method, url }) => {
    if (method === "POST") return json(response, 201, { id: "con_1", label: "git.test" })
    if (url.includes("/repository?") && state !== "refusal")
      return json(response, 200, { state, message: "The remote gave no answer." })
    if (url.includes("/repository?")) return refuse(response, 403, "forbidden")
    return json(response, 200, { id: "con_1" })
  })
  const reins = new Reins({ baseUrl: server.url })
  const saved = await saveHostToken(
    reins,
    { ...repository, ref: "main" },
    wanted ?? assert.fail("no way"),
    typed
  ).catch((error: unknown) => error)
  return { saved, calls: callsOf(server), made: JSON.parse(server.received[0]?.body ?? "null") }
}

const callsOf = ({ received }: ScriptedServer): ReadonlyArray<string> =>
  received.map(({ method, url }) => `${method} ${new URL(url, "http://x").pathname}`)

const looked = ["POST /api/workspaces/ws_1/connections", "GET /api/workspaces/ws_1/repository"]

const takenBack = [...looked, "DELETE /api/connections/con_1"]

const closed = "git.test does not open the repository with this token. Check what it may do."

const unknown =
  "The token is not saved, because nobody could tell whether it opens the repository. The remote gave no answer."

describe("saveHostToken", () => {
  it.each(["found", "ref_not_found"] as const)("keeps a token whose look is %s", async (state) => {
    const { calls, saved } = await saving(state, { token: "t" })
    assert.deepInclude(saved, { connection: { id: "con_1", label: "git.test" }, refusal: null })
    assert.deepStrictEqual(calls, looked)
  })

  it.each([
    ["auth_required", closed],
    ["not_found", closed],
    ["unavailable", unknown],
    ["refused", unknown],
    ["a word of tomorrow" as "refused", unknown]
  ] as const)("takes a token back whose look is %s", async (state, refusal) => {
    const { calls, saved } = await saving(state, { token: "t" })
    assert.deepInclude(saved, { connection: null, refusal })
    assert.deepStrictEqual(calls, takenBack)
  })

  it("takes the token back when nobody could look, and tells why", async () => {
    const { calls, saved } = await saving("refusal", { token: "t" })
    assert.instanceOf(saved, ReinsApiError)
    assert.deepStrictEqual(calls, takenBack)
  })

  it("sends what was meant of what was pasted", async () => {
    const { made } = await saving("found", { token: " t-1\n", user: " ada " })
    assert.deepStrictEqual(made, {
      kind: "git",
      label: "git.test",
      credential: { origin: "https://git.test", username: "ada", password: "t-1" }
    })
  })
})
