import { assert, describe, it } from "vitest"
import { reinsAt, worldForFile } from "./Cli.js"

const world = worldForFile()

const succeed = async (...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = await reinsAt(world().at, args)
  assert.strictEqual(status, 0, stderr)
  return { stderr, stdout }
}

const refuse = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { status, stderr } = await reinsAt(world().at, args)
  assert.strictEqual(status, 1, stderr)
  return stderr
}

describe("commits", () => {
  it("are by an account once it has set its name, with an address of its own alone", async () => {
    assert.include((await succeed("me", "git")).stderr, "The service is the author of your commits.")
    assert.match((await succeed("me", "git", "Ann Miller")).stderr, /^Your commits are by Ann Miller <\S+@\S+>\.$/m)
    assert.match((await succeed("me", "git", "--json")).stdout, /"name":"Ann Miller"/)
    assert.include(await refuse("me", "git", "Eve", "--email", "ann@elsewhere.example"), "the address of the account")
    assert.include(await refuse("me", "git", "Ann", "--remove"), "not both")
    assert.include((await succeed("me", "git", "--remove")).stderr, "The service is the author of your commits.")
  })

  it("are signed with keys that owners make, list and destroy", async () => {
    assert.include((await succeed("signing-keys", "list")).stderr, "The workspace has no signing key.")
    const { stdout } = await succeed("signing-keys", "create")
    assert.match(stdout, /^ssh-ed25519 \S+\n$/)
    const listed = JSON.parse((await succeed("signing-keys", "list", "--json")).stdout)
    assert.strictEqual(`${listed.public_key}\n`, stdout)
    assert.include((await succeed("signing-keys", "list")).stdout, listed.fingerprint)
    assert.include((await succeed("signing-keys", "remove", listed.id)).stderr, `${listed.fingerprint} signs nothing`)
  })
})
