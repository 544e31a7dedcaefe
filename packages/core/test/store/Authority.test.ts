import type { HttpApiEndpoint } from "@effect/platform"
import { assert, layer as suite } from "@effect/vitest"
import { Api } from "@reins/core/Api"
import * as Embedded from "@reins/core/Embedded"
import { operations } from "@reins/core/Rooms"
import { isCommand } from "@reins/core/store/Command"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

/** The changes of the contract that have an operation, with the parameters of their paths. */
const changes: ReadonlyArray<{ readonly group: string; readonly name: string; readonly path: string }> = Object.values(
  Api.groups
).flatMap(({ endpoints, identifier }) =>
  Object.values(endpoints as Record<string, HttpApiEndpoint.HttpApiEndpoint.Any & { method: string; path: string }>)
    .filter(({ method }) => method !== "GET")
    .map(({ name, path }) => ({ group: identifier, name, path }))
)

/** The changes that only a door answers. Their types ask for a command too, except for those that run again when they are repeated. */
const ofDoor = new Set([
  "accounts.register",
  "accounts.delete",
  "accounts.login",
  "accounts.logout",
  "accounts.verifyEmail",
  "accounts.changePassword",
  "accounts.resetPassword",
  "delegations.wait"
])

suite(services(databases[0]?.layer ?? assert.fail("no database")), { excludeTestServices: true })((it) => {
  it.effect("every change of the contract is a command that says who gives it and what about", () =>
    Effect.gen(function* () {
      const { principal } = yield* Embedded.owner
      // Boundary: the operations are called by name, with ids that no resource has. Nothing of them runs.
      const all = (yield* operations) as unknown as Record<
        string,
        Record<string, (call: object) => Effect.Effect<unknown>>
      >
      const without: Array<string> = []
      for (const { group, name, path } of changes) {
        const operation = all[group]?.[name]
        if (operation === undefined) {
          without.push(`${group}.${name}`)
          continue
        }
        const names = [...path.matchAll(/:(\w+)/g)].map(([, parameter = ""]) => parameter)
        const ids = names.map((parameter) => [parameter, `the ${parameter}`] as const)
        const command = operation({
          principal,
          path: Object.fromEntries(ids),
          query: {},
          body: { email: "ann@example.com" }
        })
        if (!isCommand(command)) return assert.fail(`${group}.${name} is no command`)
        const { about, by } = command.commanded
        assert.strictEqual(by, principal, `${group}.${name}`)
        // The last resource that the path names, or else the account.
        assert.strictEqual(about.id, ids.at(-1)?.[1] ?? principal.accountId, `${group}.${name}`)
        assert.strictEqual(about.of, ids.length > 1 ? ids.at(-2)?.[1] : undefined, `${group}.${name}`)
      }
      assert.deepStrictEqual(new Set(without), ofDoor)
    })
  )
})
