import { assert, it } from "vitest"
import { reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()

it("lists keys without their secrets, and revokes one, which is then good for nothing", async () => {
  const { at, client } = world()
  const other = await client.apiKeys.create({ name: "robot", scopes: ["read"] })
  const listed = await reinsAt(at, ["keys", "list"])
  assert.strictEqual(listed.status, 0, listed.stderr)
  assert.match(listed.stdout, /^KEY +NAME +SCOPES +ENDS WITH +LAST USED +STATE\n/)
  assert.match(listed.stdout, new RegExp(`^${other.id} +robot +read +${other.last4} +never +active$`, "m"))
  assert.notInclude(listed.stdout, other.secret)
  const revoked = await reinsAt(at, ["keys", "revoke", other.id])
  assert.deepStrictEqual([revoked.status, revoked.stdout], [0, ""])
  assert.strictEqual(revoked.stderr, `The key "robot" (${other.id}) is good for nothing any more.\n`)
  const json = await reinsAt(at, ["keys", "list", "--json"])
  const keys = json.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
  assert.isString(keys.find(({ id }) => id === other.id).revoked_at)
  const refused = await reinsAt({ ...at, env: { ...at.env, REINS_API_KEY: other.secret } }, ["keys", "list"])
  assert.strictEqual(refused.status, 1)
  assert.match(refused.stderr, /does not know the key/)
})

it("a key that may not says so, and an unknown one is told of", async () => {
  const { at, client } = world()
  const reader = await client.apiKeys.create({ name: "reader", scopes: ["read"] })
  const refused = await reinsAt({ ...at, env: { ...at.env, REINS_API_KEY: reader.secret } }, ["keys", "list"])
  assert.strictEqual(refused.status, 1)
  assert.match(refused.stderr, /^reins: .+\n$/)
  const unknown = await reinsAt(at, ["keys", "revoke", "key_nope"])
  assert.strictEqual(unknown.status, 1)
  assert.match(unknown.stderr, /^reins: .+\n$/)
})

it("tells whoever revokes their own key how to get another", async () => {
  const { at, client } = world()
  const own = await client.apiKeys.create({ name: "own", scopes: ["admin"] })
  const { status, stderr } = await reinsAt({ ...at, env: { ...at.env, REINS_API_KEY: own.secret } }, [
    "keys",
    "revoke",
    own.id
  ])
  assert.strictEqual(status, 0)
  assert.match(stderr, /Run `reins init` for another\.\n$/)
})
