import { listCostOf, listPriceOf, listPrices } from "@reins/core/connections/ListPrices"
import { assert, describe, it } from "vitest"

describe("list prices", () => {
  it("name their source and their day, and are what a price can be", () => {
    for (const [model, { cached = 0, date, input, output, source }] of Object.entries(listPrices)) {
      assert.match(date, /^20\d\d-[01]\d-[0-3]\d$/, model)
      assert.isAtMost(Date.parse(date), Date.now(), model)
      assert.strictEqual(new URL(source).protocol, "https:", model)
      assert.isTrue(cached < input && input < output, `${model} reads for less than it writes`)
    }
  })

  it("are found behind the vendor before a name and the day behind it, and nowhere else", () => {
    const price = listPrices["gpt-5.4"]
    for (const name of ["gpt-5.4", "openai/gpt-5.4", "gpt-5.4-2026-03-05", "openai/gpt-5.4-20260305"])
      assert.strictEqual(listPriceOf(name), price, name)
    for (const name of [null, "", "gpt-5.4-turbo", "my-gpt-5.4", "a/b/gpt-5.4x", "constructor", "toString"])
      assert.isNull(listPriceOf(name), String(name))
  })

  it("make a cost only where input and output are known", () => {
    const tokens = { input: 1_000_000, cached: 400_000, cacheWritten: null, output: 100_000 }
    assert.strictEqual(listCostOf("gpt-5.4", tokens), 3.1)
    assert.isNull(listCostOf("gpt-5.4", { ...tokens, output: null }))
    assert.isNull(listCostOf("nobody-knows", tokens))
  })
})
