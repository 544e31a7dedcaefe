import { assert, it } from "@effect/vitest"
import { lastFence } from "@reins/core/execution/run/Fence"

it("the last closed block of JSON is found, with the words before it", () => {
  for (const [text, before, inside] of [
    ['Done.\n```json\n{"a":1}\n```', "Done.\n", '{"a":1}\n'],
    ['Done: ```json \n\n{"a":1}\n\n  ``` and more', "Done: ", '\n{"a":1}\n\n'],
    ["```json\n1\n```\nor\n```json\n2\n```\n", "```json\n1\n```\nor\n", "2\n"],
    ["```json\n1\n```\n```json\nnot closed", "", "1\n"],
    ["```json\nnot closed\n```json\n2\n```", "```json\nnot closed\n", "2\n"],
    ["```json\r\n{}\r\n```\r\n", "", "{}\r\n"]
  ] as const) {
    const found = lastFence(text)
    assert.strictEqual(found && text.slice(0, found.at), before, text)
    assert.strictEqual(found?.inside, inside, text)
  }
  for (const text of ["", "```json", "```json {} ```", "```\n{}\n```", "```json\n{}"])
    assert.isUndefined(lastFence(text), text)
})
