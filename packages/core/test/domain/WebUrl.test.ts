import { WebUrl } from "@reins/base/domain/WebUrl"
import { Schema } from "effect"
import { assert, describe, it } from "vitest"

const isTaken = Schema.is(WebUrl)

describe("a web address", () => {
  it.each([
    "https://push.example/send/abc",
    "http://127.0.0.1:8080",
    "https://[::1]:443/x?y=1",
    "https://example.com?x"
  ])("%s is one", (text) => {
    assert.isTrue(isTaken(text))
  })

  it.each([
    "http://[:]",
    "http://[1:2:3:4:5:6:7:8:9]/",
    "https://example.com:99999/",
    "https://1.2.3.4.5/",
    "https://256.1.1.1/",
    "https://user:secret@example.com/",
    "ftp://example.com/",
    "https://",
    `https://example.com/${"a".repeat(2000)}`
  ])("%s is none", (text) => {
    assert.isFalse(isTaken(text))
  })
})
