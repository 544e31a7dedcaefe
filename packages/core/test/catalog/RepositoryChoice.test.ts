import { assert, describe, it } from "@effect/vitest"
import { ConnectionId, CredentialId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import {
  type FittingConnection,
  type RepositoryUse,
  rankConnections,
  repositoryKey
} from "@reins/core/catalog/RepositoryChoice"
import * as fc from "fast-check"

const repository = "https://git.example/acme/shop"

const connectionOf = (n: number) => ConnectionId.make(`con_${String(n).padStart(26, "0")}`)
const credentialOf = (n: number) => CredentialId.make(`cred_${String(n).padStart(26, "0")}`)
const [firstCredential, secondCredential] = [credentialOf(1), credentialOf(2)]

const connections = fc.uniqueArray(
  fc.record({
    id: fc.integer({ min: 0, max: 999 }).map((n) => connectionOf(n)),
    credentialId: fc.constantFrom(firstCredential, secondCredential),
    isApp: fc.boolean(),
    health: fc.constantFrom("unverified", "ready", "reauth_required")
  }),
  { selector: ({ id }) => id, maxLength: 6 }
) satisfies fc.Arbitrary<ReadonlyArray<FittingConnection>>

/** Uses of some of the connections, of this repository and of others, with the present credential and with an earlier one. */
const usesOf = (fitting: ReadonlyArray<FittingConnection>): fc.Arbitrary<ReadonlyArray<RepositoryUse>> =>
  fitting.length === 0
    ? fc.constant([])
    : fc.uniqueArray(
        fc.record({
          connectionId: fc.constantFrom(...fitting.map(({ id }) => id)),
          credentialId: fc.constantFrom(firstCredential, secondCredential),
          repository: fc.constantFrom(repository, `${repository}-2`),
          opens: fc.boolean(),
          usedAt: fc.integer({ min: 10, max: 59 }).map((second) => Timestamp.make(`2026-01-01T00:00:${second}.000Z`))
        }),
        { selector: ({ connectionId, repository: of }) => `${connectionId} ${of}`, maxLength: 8 }
      )

const cases = connections.chain((fitting) => fc.tuple(fc.constant(fitting), usesOf(fitting)))

describe("the order of the connections for a repository", () => {
  it("has each connection once", () =>
    fc.assert(
      fc.property(cases, ([fitting, uses]) => {
        const ids = rankConnections(repository, fitting, uses).map(({ id }) => id)
        assert.sameMembers(
          ids,
          fitting.map(({ id }) => id)
        )
        assert.strictEqual(new Set(ids).size, fitting.length)
      })
    ))

  it("has the refused ones last, apps before tokens, then the last that has opened it, then the newest", () =>
    fc.assert(
      fc.property(cases, ([fitting, uses]) => {
        const ranked = rankConnections(repository, fitting, uses)
        const useOf = ({ credentialId, id }: FittingConnection) =>
          uses.find(
            (use) => use.repository === repository && use.connectionId === id && use.credentialId === credentialId
          )
        for (const [index, after] of ranked.slice(1).entries()) {
          const before = ranked[index] ?? after
          assert.isFalse(before.opens === false && after.opens !== false, "a refused one comes first")
          if ((before.opens === false) !== (after.opens === false)) continue
          assert.isFalse(!before.isApp && after.isApp, "a token comes before an app")
          if (before.isApp !== after.isApp || before.opens === false) continue
          const [earlier, later] = [useOf(before)?.usedAt ?? "", useOf(after)?.usedAt ?? ""]
          assert.isTrue(earlier > later || (earlier === later && before.id > after.id), "the last use decides")
        }
      })
    ))

  it("does not count what was seen of an earlier credential", () => {
    const id = connectionOf(1)
    const use = { connectionId: id, repository, opens: false, usedAt: Timestamp.make("2026-01-01T00:00:00.000Z") }
    const connection = { id, credentialId: secondCredential, isApp: false, health: "ready" as const }
    const rankedBy = (credentialId: CredentialId) =>
      rankConnections(repository, [connection], [{ ...use, credentialId }])
    assert.strictEqual(rankedBy(firstCredential)[0]?.opens, null)
    assert.strictEqual(rankedBy(secondCredential)[0]?.opens, false)
  })
})

describe("the name of a repository", () => {
  const names: ReadonlyArray<readonly [url: string, name: string | undefined]> = [
    ["https://git.example/acme/shop", repository],
    ["https://git.example/acme/shop.git", repository],
    ["https://git.example/acme/shop/", repository],
    ["https://GIT.Example:443/acme/shop", repository],
    ["https://ann@git.example/acme/shop", repository],
    ["http://git.example/acme/shop", "http://git.example/acme/shop"],
    ["https://git.example:8443/acme/shop", "https://git.example:8443/acme/shop"],
    ["https://git.example./acme/shop", "https://git.example./acme/shop"],
    ["git@git.example:acme/shop.git", "ssh://git.example/acme/shop"],
    ["ssh://git@git.example/acme/shop", "ssh://git.example/acme/shop"],
    ["ssh://git.example:2222/acme/shop", "ssh://git.example:2222/acme/shop"],
    ["file:///srv/acme/shop.git", undefined],
    ["/srv/acme/shop.git", undefined],
    ["https://ann:secret@git.example/acme/shop", undefined],
    ["acme/shop", undefined]
  ]
  it.each(names)("%s is %s", (url, name) => assert.strictEqual(repositoryKey(url), name))
})
