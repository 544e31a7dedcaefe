import { meantBy, shortIdIn } from "@reins/cli/client/Resolve"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
const ids = fc
  .stringOf(fc.constantFrom(...alphabet), { minLength: 25, maxLength: 25 })
  .map((rest): `sess_${string}` => `sess_0${rest}`)
const sessions = fc.uniqueArray(
  fc.record({ id: ids, title: fc.option(fc.constantFrom("Fix", "Fix the login", "fix  the\nsum", "Über", "漢字")) }),
  { selector: ({ id }) => id, maxLength: 12 }
)

describe("the sessions that a name means", () => {
  it("are those whose id ends so, for each end of four characters or more", () => {
    fc.assert(
      fc.property(sessions, fc.nat(), fc.integer({ min: 4, max: 26 }), (all, at, length) => {
        fc.pre(all.length > 0)
        const one = all[at % all.length]
        const end = one?.id.slice(-length) ?? ""
        const wanted = all.filter(({ id }) => id.endsWith(end))
        assert.sameMembers([...meantBy(end, all)], wanted)
        assert.sameMembers([...meantBy(end.toUpperCase(), all)], wanted)
        assert.deepStrictEqual(meantBy(one?.id ?? "", all), one === undefined ? [] : [one])
      })
    )
  })

  it("are those whose title begins so; a whole title comes first", () => {
    const titled = (...titles: ReadonlyArray<string | null>) =>
      titles.map((title, at) => ({ id: `sess_0${String(at).padStart(25, "z")}` as const, title }))
    const all = titled("Fix", "Fix the  login", "fix the sum", null, "Über uns")
    const found = (name: string) => meantBy(name, all).map(({ title }) => title)
    assert.deepStrictEqual(found("fix the"), ["Fix the  login", "fix the sum"])
    assert.deepStrictEqual(found("fix"), ["Fix"])
    assert.deepStrictEqual(found(" FIX THE L"), ["Fix the  login"])
    assert.deepStrictEqual(found("über"), ["Über uns"])
    assert.deepStrictEqual(found("login"), [])
    assert.deepStrictEqual(found(" "), [])
  })

  it("are told apart by the ends of their ids", () => {
    fc.assert(
      fc.property(sessions, (all) => {
        const known = all.map(({ id }) => id)
        for (const each of all) {
          const end = shortIdIn(each.id, known)
          assert.isAtLeast(end.length, 4)
          assert.deepStrictEqual(
            all.filter(({ id }) => id.endsWith(end)),
            [each]
          )
        }
      })
    )
  })
})
