import { contracts } from "@reins/core/Contracts"
import { assert, describe, it } from "vitest"

const operationsOf = ({ groups }: (typeof contracts)[number]): ReadonlyArray<string> =>
  groups.flatMap(({ endpoints, identifier }) => Object.keys(endpoints).map((name) => `${identifier}.${name}`))

describe("the contracts of the rooms", () => {
  it("list the errors of their own operations, and of all of them", () => {
    for (const contract of contracts) assert.sameMembers(Object.keys(contract.errors), [...operationsOf(contract)])
  })

  it("have no operation in common", () => {
    const operations = contracts.flatMap(operationsOf)
    assert.lengthOf(operations, new Set(operations).size)
  })
})
