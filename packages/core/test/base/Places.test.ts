import { assert, it } from "@effect/vitest"
import { Places } from "@reins/base/base/Places"
import fc from "fast-check"

it("places are never taken by more than there are, each guest sits once and in the order of coming", () => {
  const step = fc.record({ leaves: fc.boolean(), which: fc.nat() })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.nat(4), fc.array(step, { maxLength: 60 }), (most, line, steps) => {
      const places = new Places(most, line)
      const guests = new Map<number, () => void>()
      const seated: Array<number> = []
      const gone = new Set<number>()
      const sitting = () => seated.filter((each) => !gone.has(each))
      const waiting = () => [...guests.keys()].filter((each) => !gone.has(each) && !seated.includes(each))
      for (const [at, { leaves, which }] of steps.entries()) {
        const present = [...guests.keys()].filter((each) => !gone.has(each))
        const guest = present[which % Math.max(1, present.length)]
        if (leaves && guest !== undefined) {
          gone.add(guest)
          guests.get(guest)?.()
          guests.get(guest)?.()
        } else {
          const isFull = sitting().length === most && waiting().length === line
          const leave = places.take(() => seated.push(at))
          assert.strictEqual(leave === undefined, isFull)
          if (leave !== undefined) guests.set(at, leave)
        }
        assert.isAtMost(sitting().length, most)
        assert.isTrue(waiting().length === 0 || sitting().length === most)
        assert.deepStrictEqual(
          seated,
          [...seated].sort((a, b) => a - b)
        )
        assert.strictEqual(new Set(seated).size, seated.length)
      }
    })
  )
})
